//! Choices of a spec that depend on each other: kernel, bandwidth, map, sampling, count, scaling.

use super::fields::Fields;
use crate::dataset::ScalingRule;
use crate::features::{KernelShape, MapKind, Sampling};
use crate::training::{BandwidthRule, LambdaRule, TrainSpec};

const DEFAULT_FEATURE_COUNT: u64 = 1_024;

pub(crate) fn check_kernel(fields: &Fields) -> KernelShape {
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
    let shape = fields.choice("name", KernelShape::Gaussian, &shapes.map(|shape| (shape.name(), shape)));
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

pub(crate) fn check_bandwidth(fields: &Fields, kernel: KernelShape) -> BandwidthRule {
    if !kernel.has_bandwidth() {
        return BandwidthRule::Fixed(1.0); // nothing depends on it
    }
    BandwidthRule::check(fields)
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

pub(crate) fn check_sampling(features: &Fields, kernel: KernelShape) -> Sampling {
    let samplings = [
        ("plain", Sampling::Plain),
        ("orthogonal", Sampling::Orthogonal),
        ("structured", Sampling::Structured),
        ("quasi_monte_carlo", Sampling::QuasiMonteCarlo),
    ];
    let sampling = features.choice("sampling", Sampling::Plain, &samplings);
    if let Some(reason) = sampling.refusal(kernel) {
        features.problem("sampling", reason);
    }
    sampling
}

pub(crate) fn check_count(features: &Fields, map: MapKind, most: u64) -> usize {
    let per_draw = map.columns_per_draw() as u64;
    let requirement = match map {
        MapKind::Pair => format!("an even number from 2 to {most}: map pair makes two columns from each draw"),
        MapKind::Phase | MapKind::Sign | MapKind::Spline | MapKind::Linear | MapKind::Points => {
            format!("a whole number from 1 to {most}")
        }
    };
    let default = DEFAULT_FEATURE_COUNT.min(most) & !1;
    let fits = |count: u64| count > 0 && count.is_multiple_of(per_draw) && count <= most;
    features.integer("count", default, fits, &requirement) as usize
}

/// Refuses fields that exact kernel ridge regression does not use.
pub(crate) fn refuse_for_exact(checked: &TrainSpec, spec: &Fields, features: &Fields) {
    for name in ["count", "map", "sampling"].into_iter().filter(|name| features.has(name)) {
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

/// The rule; none where it is searched together with the bandwidth, which is the default when that is searched.
pub(crate) fn check_scaling(spec: &Fields, kernel: KernelShape, bandwidth: BandwidthRule) -> Option<ScalingRule> {
    let of_spline = matches!(kernel, KernelShape::Spline { .. });
    let default = match bandwidth {
        BandwidthRule::Search => None,
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
