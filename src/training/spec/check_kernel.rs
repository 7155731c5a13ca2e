//! Choices of a spec that depend on each other: kernel, bandwidth, map, sampling, count, scaling.

use super::effort::Effort;
use super::fields::Fields;
use super::open_choices::{OpenChoices, largest_count};
use super::pool::PoolSpec;
use crate::dataset::ScalingRule;
use crate::features::{ChosenBy, KernelShape, MapKind, Sampling};
use crate::training::spec::rules::MetricRule;
use crate::training::{BandwidthRule, LambdaRule, TrainSpec};

const DEFAULT_FEATURE_COUNT: u64 = 1_024;

pub(crate) fn check_kernel(fields: &Fields, effort: Effort) -> KernelShape {
    let (smoothnesses, orders) = (KernelShape::SMOOTHNESSES, KernelShape::ORDERS);
    let requirement = format!("a number from {} to {}", smoothnesses.start(), smoothnesses.end());
    let nu = fields.number("nu", 1.5, |nu| KernelShape::Matern { nu }.is_valid(), &requirement);
    let requirement = format!("an even number from {} to {}", orders.start(), orders.end());
    let is_order = |q| u32::try_from(q).is_ok_and(|order| KernelShape::Spline { order }.is_valid());
    let order = fields.integer("order", 2, is_order, &requirement);
    let shapes = [
        KernelShape::Gaussian,
        KernelShape::Laplace,
        KernelShape::Matern { nu },
        KernelShape::Cauchy,
        KernelShape::Angular,
        KernelShape::Spline { order: order as u32 },
        KernelShape::Linear,
    ];
    let named = shapes.into_iter().map(|shape| (shape.name(), shape));
    let named = named.chain([("search", KernelShape::Gaussian)]); // where a search starts
    let shape = fields.choice("name", KernelShape::Gaussian, &named.collect::<Vec<_>>());
    if fields.says("name", "search") {
        check_open_kernel(fields, effort);
    }
    for (name, belongs) in [
        ("nu", matches!(shape, KernelShape::Matern { .. })),
        ("order", matches!(shape, KernelShape::Spline { .. })),
        ("bandwidth", shape.has_bandwidth()),
    ] {
        if fields.has(name) && !belongs {
            fields.problem(name, format!("the {} kernel has no {name}; remove it", shape.name()));
        }
    }
    shape
}

/// Refuses what a search for the kernel cannot keep.
fn check_open_kernel(fields: &Fields, effort: Effort) {
    if effort == Effort::Fast {
        fields.problem("name", "is searched with effort balanced or thorough; set effort, or name a kernel".into());
    }
    if fields.has("bandwidth") && !fields.says("bandwidth", "search") {
        let detail =
            "means something else for every kernel, and the kernel is searched; name it, or remove the bandwidth";
        fields.problem("bandwidth", detail.into());
    }
}

pub(crate) fn check_metric(fields: &Fields, kernel: KernelShape, effort: Effort) -> MetricRule {
    let rule = fields.choice("metric", effort.default_metric(fields, kernel), &MetricRule::ALL);
    let Some(reason) = rule.refusal(kernel) else { return rule };
    fields.problem("metric", reason);
    MetricRule::None
}

pub(crate) fn check_bandwidth(
    fields: &Fields,
    kernel: KernelShape,
    (metric, effort): (MetricRule, Effort),
) -> BandwidthRule {
    if !kernel.has_bandwidth() {
        return BandwidthRule::Fixed(1.0); // nothing depends on it
    }
    if !fields.has("bandwidth") && metric == MetricRule::None {
        return effort.default_bandwidth();
    }
    BandwidthRule::check(fields, metric)
}

pub(crate) fn check_map(features: &Fields, kernel: KernelShape) -> MapKind {
    let maps = [
        ("pair", MapKind::Pair),
        ("phase", MapKind::Phase),
        ("sign", MapKind::Sign),
        ("spline", MapKind::Spline),
        ("linear", MapKind::Linear),
    ];
    let serving = MapKind::serving(kernel);
    let map = features.choice("map", serving[0], &maps);
    if !serving.contains(&map) {
        let names: Vec<&str> = maps.iter().filter(|(_, map)| serving.contains(map)).map(|(name, _)| *name).collect();
        features.problem("map", format!("the {} kernel needs map {}", kernel.name(), names.join(" or ")));
    }
    map
}

/// The names of all samplings.
pub fn samplings() -> Vec<&'static str> {
    Sampling::ALL.iter().map(|(name, _)| *name).collect()
}

pub(crate) fn check_sampling(features: &Fields, kernel: KernelShape) -> Sampling {
    let named = Sampling::ALL.iter().copied().chain([("search", Sampling::Plain)]); // what is searched starts from plain
    let sampling = features.choice("sampling", Sampling::Plain, &named.collect::<Vec<_>>());
    if let Some(reason) = sampling.refusal(kernel) {
        features.problem("sampling", reason);
    }
    sampling
}

pub(crate) fn check_count(features: &Fields, map: MapKind, most: u64, open: OpenChoices) -> usize {
    if open.count || open.count_by_rows {
        return largest_count(map, most);
    }
    let per_draw = map.columns_per_draw() as u64;
    let requirement = match map {
        MapKind::Pair => {
            format!("an even number from 2 to {most}, or 'auto': map pair makes two columns from each draw")
        }
        MapKind::Phase | MapKind::Sign | MapKind::Spline | MapKind::Linear | MapKind::Points => {
            format!("a whole number from 1 to {most}, or 'auto'")
        }
    };
    let default = DEFAULT_FEATURE_COUNT.min(most) & !1;
    let fits = |count: u64| count > 0 && count.is_multiple_of(per_draw) && count <= most;
    features.integer("count", default, fits, &requirement) as usize
}

/// Refuses fields that make no sense with features chosen by rows.
pub(crate) fn refuse_for_chosen(checked: &TrainSpec, spec: &Fields) {
    let name = checked.sampling.name();
    if checked.error_bars && !checked.sampling.draws_are_exchangeable() {
        let reason = "keeps the best draws, and leaving out some of them does not tell what others would change";
        spec.problem("error_bars", format!("sampling {name} {reason}; remove error_bars, or use plain or leverage"));
    }
    if checked.lambda == LambdaRule::Certified && checked.open.any() {
        let reason =
            "comes from theorems on features that are fixed in advance; set features.count and features.sampling, or";
        spec.problem("lambda", format!("'certified' {reason} use 'search', 'inverse_sqrt_n' or a number"));
    } else if checked.lambda == LambdaRule::Certified && checked.sampling.chosen_by() != ChosenBy::Nothing {
        let reason = "comes from theorems on features drawn independently of the rows; with sampling";
        spec.problem("lambda", format!("'certified' {reason} {name} use 'search', 'inverse_sqrt_n' or a number"));
    }
}

/// Refuses fields that exact kernel ridge regression does not use.
pub(crate) fn refuse_for_exact(checked: &TrainSpec, spec: &Fields, features: &Fields) {
    for name in ["count", "map", "sampling"].into_iter().chain(PoolSpec::FIELDS).filter(|name| features.has(name)) {
        features.problem(name, "learner exact_krr draws no features; remove it".into());
    }
    for (name, asked, reason) in [
        ("spread", checked.spread, "is not available with learner exact_krr; remove it"),
        ("error_bars", checked.error_bars, "measure the distance to the exact method, which exact_krr is; remove them"),
        ("updatable", checked.updatable, "needs sums over features, which exact_krr does not have; remove it"),
        ("sample_weight", checked.sample_weight.is_some(), "is not available with learner exact_krr; remove it"),
        (
            "lambda",
            checked.lambda == LambdaRule::Certified,
            "'certified' comes from theorems on random features; use 'search', 'inverse_sqrt_n' or a number",
        ),
    ] {
        if asked {
            spec.problem(name, reason.into());
        }
    }
}

/// The rule; none where it is searched together with the bandwidth, which is the default when that is searched, unless a
/// metric is learned with effort fast.
pub(crate) fn check_scaling(
    spec: &Fields,
    kernel: KernelShape,
    (bandwidth, metric, effort): (BandwidthRule, MetricRule, Effort),
) -> Option<ScalingRule> {
    let of_spline = matches!(kernel, KernelShape::Spline { .. });
    let default = match bandwidth {
        BandwidthRule::Search if metric == MetricRule::None || effort != Effort::Fast => None,
        _ if of_spline => Some(ScalingRule::Unit),
        _ => Some(ScalingRule::Standard),
    };
    let scaling = spec.choice(
        "scaling",
        default,
        &[
            ("standard", Some(ScalingRule::Standard)),
            ("minmax", Some(ScalingRule::Minmax)),
            ("unit", Some(ScalingRule::Unit)),
            ("none", Some(ScalingRule::None)),
            ("search", None),
        ],
    );
    if of_spline && !matches!(scaling, Some(ScalingRule::Unit | ScalingRule::None)) {
        spec.problem(
            "scaling",
            "the spline kernel is defined on [0, 1]; use unit, or none if the inputs are in that range".into(),
        );
    } else if scaling.is_none() && bandwidth != BandwidthRule::Search {
        spec.problem("scaling", "is searched together with the bandwidth; set kernel.bandwidth to search too".into());
    }
    scaling
}
