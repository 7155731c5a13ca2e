//! Tables in files that stay where they are, and the cluster that passes over them run on.

use super::RemoteUri;
use crate::linalg::InstructionSet;
use clap::{Args, ValueEnum};
use std::path::{Component, Path, PathBuf};

/// Which files the service may read where they are, and whether it has a cluster.
#[derive(Debug, Clone, Args)]
pub struct ClusterConfig {
    /// Folders under which a dataset may be registered by its location, separated by commas: absolute paths, whose files are
    /// read by this process and by executors, or URIs such as s3a://bucket/folder, which only executors read. Only a key with
    /// the scope admin can register one. Without this, every location is refused.
    #[arg(
        long,
        env = "BOCHNER_DATASET_LOCATIONS",
        value_name = "FOLDERS",
        value_delimiter = ',',
        value_parser = AllowedLocation::parse
    )]
    pub dataset_locations: Vec<AllowedLocation>,

    /// Master of the Spark sessions of training jobs with "engine": "spark": local[N,4], spark://host:7077, yarn, k8s://…, or
    /// sc://host for Spark Connect. Without it, such jobs are refused.
    #[arg(long, env = "BOCHNER_SPARK_MASTER", value_name = "URL")]
    pub spark_master: Option<String>,

    /// How the sessions are started.
    #[command(flatten)]
    pub spark: SparkConfig,
}

/// How a Spark session is started, by the service and by commands.
#[derive(Debug, Clone, Args)]
pub struct SparkConfig {
    /// Python with pyspark, on this machine.
    #[arg(long, env = "BOCHNER_SPARK_PYTHON", value_name = "PATH", default_value = "python3")]
    pub spark_python: PathBuf,

    /// The program that executors run passes with. The default is bochner-worker in the folder of this program, or this program
    /// itself if that is not there.
    #[arg(long, env = "BOCHNER_SPARK_PROGRAM", value_name = "PATH")]
    pub spark_program: Option<PathBuf>,

    /// Instructions that every pass must use, on a cluster whose machines have different ones: scalar, avx2, avx512 or neon.
    /// The default is the widest of each machine, and machines that differ are refused.
    #[arg(long, env = "BOCHNER_SPARK_INSTRUCTIONS", value_name = "SET", value_parser = instructions)]
    pub spark_instructions: Option<InstructionSet>,

    /// Partitions, where the program reads the files. The default is one a file, 200 at most. The model does not depend on it.
    #[arg(
        long,
        env = "BOCHNER_SPARK_PARTITIONS",
        value_name = "COUNT",
        value_parser = clap::value_parser!(u32).range(1..=100_000)
    )]
    pub spark_partitions: Option<u32>,

    /// Who reads the files on the executors: workers (this program, by the paths of the files) or spark.
    #[arg(long, env = "BOCHNER_SPARK_READER", value_name = "WHO", value_enum, default_value = "workers")]
    pub spark_reader: SparkReader,

    /// A setting of the Spark session, such as spark.executor.memory=2g; may be repeated. In the environment variable, one a
    /// line.
    #[arg(
        long,
        env = "BOCHNER_SPARK_CONF",
        value_name = "NAME=VALUE",
        value_delimiter = '\n',
        value_parser = setting
    )]
    pub spark_conf: Vec<String>,
}

/// Who reads the files on the executors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SparkReader {
    /// This program, by paths that exist there. Costs least.
    Workers,
    /// Spark, which streams the rows to this program.
    Spark,
}

impl SparkReader {
    /// As in the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Workers => "workers",
            Self::Spark => "spark",
        }
    }
}

/// Where tables may be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AllowedLocation {
    /// Under a folder of this machine.
    Folder(PathBuf),
    /// Under a folder that only the cluster can read.
    Remote(RemoteUri),
}

impl AllowedLocation {
    fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if RemoteUri::is_meant_by(text) {
            return RemoteUri::parse(text).map(Self::Remote).map_err(Into::into);
        }
        let path = Path::new(text);
        let is_plain = path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
        if path.is_absolute() && is_plain {
            Ok(Self::Folder(path.to_owned()))
        } else {
            Err("write the absolute path of a folder, without '..', or a URI such as s3a://bucket/folder".into())
        }
    }
}

fn instructions(text: &str) -> Result<InstructionSet, String> {
    let key = |set: &InstructionSet| set.name().to_lowercase().replace('-', "");
    let set = InstructionSet::ALL.into_iter().find(|set| key(set) == text);
    set.ok_or_else(|| "must be scalar, avx2, avx512 or neon".into())
}

fn setting(text: &str) -> Result<String, String> {
    let is_setting = text.split_once('=').is_some_and(|(name, _)| !name.is_empty());
    if is_setting { Ok(text.to_owned()) } else { Err("must be NAME=VALUE".into()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Command, FromArgMatches};

    #[test]
    fn settings_with_commas_stay_whole_and_folders_are_absolute() {
        let read = |flags: &[&str]| {
            let matches = ClusterConfig::augment_args(Command::new("serve"))
                .try_get_matches_from(["serve"].iter().chain(flags))
                .map_err(|error| error.to_string())?;
            ClusterConfig::from_arg_matches(&matches).map_err(|error| error.to_string())
        };
        let locations = ["--dataset-locations", "/a,s3a://b/c/"];
        let config = read(&[&["--spark-conf", "spark.jars=a,b", "--spark-conf", "c=d\ne=f"][..], &locations].concat());
        let config = config.unwrap();
        assert_eq!(config.spark.spark_conf, ["spark.jars=a,b", "c=d", "e=f"]);
        let bucket = RemoteUri::parse("s3a://b/c").unwrap();
        let folder = AllowedLocation::Folder("/a".into());
        assert_eq!(config.dataset_locations, [folder, AllowedLocation::Remote(bucket)]);
        for (wrong, words) in [("a", "absolute path"), ("/a/../b", "absolute path"), ("s3a://b/../c", "'..'")] {
            assert!(read(&["--dataset-locations", wrong]).unwrap_err().contains(words), "{wrong:?}");
        }
        assert!(read(&["--spark-conf", "none"]).unwrap_err().contains("NAME=VALUE"));
    }
}
