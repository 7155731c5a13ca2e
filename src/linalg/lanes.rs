//! Vector arithmetic in one precision, for kernels that must not depend on how the compiler vectorises a loop. pulp names
//! its operations by precision; this trait names them once for both.

use pulp::Simd;

/// A precision with vectors. `S` is the instruction set that [`pulp::Arch`] found at run time.
pub trait Lanes: Copy {
    /// As many numbers as one register of `S` holds.
    type Vector<S: Simd>: Copy;

    /// The whole vectors at the start of a slice.
    fn vectors<S: Simd>(slice: &[Self]) -> &[Self::Vector<S>];

    /// The whole vectors at the start of a slice, to write to.
    fn vectors_mut<S: Simd>(slice: &mut [Self]) -> &mut [Self::Vector<S>];

    /// The same number in every lane.
    fn splat<S: Simd>(simd: S, value: Self) -> Self::Vector<S>;

    /// a + b.
    fn sum_of<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;

    /// (a + b, a − b).
    fn butterfly<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> (Self::Vector<S>, Self::Vector<S>);

    /// a·b.
    fn multiply<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;

    /// a·b + c, rounded once on every machine.
    fn multiply_add<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>, c: Self::Vector<S>) -> Self::Vector<S>;

    /// The sum over the lanes.
    fn sum<S: Simd>(simd: S, a: Self::Vector<S>) -> Self;
}

#[allow(clippy::inline_always)] // must take on the vector instructions of the kernel they stand in
impl Lanes for f32 {
    type Vector<S: Simd> = S::f32s;

    #[inline(always)]
    fn vectors<S: Simd>(slice: &[Self]) -> &[S::f32s] {
        S::as_simd_f32s(slice).0
    }

    #[inline(always)]
    fn vectors_mut<S: Simd>(slice: &mut [Self]) -> &mut [S::f32s] {
        S::as_mut_simd_f32s(slice).0
    }

    #[inline(always)]
    fn splat<S: Simd>(simd: S, value: Self) -> S::f32s {
        simd.splat_f32s(value)
    }

    #[inline(always)]
    fn sum_of<S: Simd>(simd: S, a: S::f32s, b: S::f32s) -> S::f32s {
        simd.add_f32s(a, b)
    }

    #[inline(always)]
    fn butterfly<S: Simd>(simd: S, a: S::f32s, b: S::f32s) -> (S::f32s, S::f32s) {
        (simd.add_f32s(a, b), simd.sub_f32s(a, b))
    }

    #[inline(always)]
    fn multiply<S: Simd>(simd: S, a: S::f32s, b: S::f32s) -> S::f32s {
        simd.mul_f32s(a, b)
    }

    #[inline(always)]
    fn multiply_add<S: Simd>(simd: S, a: S::f32s, b: S::f32s, c: S::f32s) -> S::f32s {
        simd.mul_add_f32s(a, b, c)
    }

    #[inline(always)]
    fn sum<S: Simd>(simd: S, a: S::f32s) -> Self {
        simd.reduce_sum_f32s(a)
    }
}

#[allow(clippy::inline_always)] // as for f32
impl Lanes for f64 {
    type Vector<S: Simd> = S::f64s;

    #[inline(always)]
    fn vectors<S: Simd>(slice: &[Self]) -> &[S::f64s] {
        S::as_simd_f64s(slice).0
    }

    #[inline(always)]
    fn vectors_mut<S: Simd>(slice: &mut [Self]) -> &mut [S::f64s] {
        S::as_mut_simd_f64s(slice).0
    }

    #[inline(always)]
    fn splat<S: Simd>(simd: S, value: Self) -> S::f64s {
        simd.splat_f64s(value)
    }

    #[inline(always)]
    fn sum_of<S: Simd>(simd: S, a: S::f64s, b: S::f64s) -> S::f64s {
        simd.add_f64s(a, b)
    }

    #[inline(always)]
    fn butterfly<S: Simd>(simd: S, a: S::f64s, b: S::f64s) -> (S::f64s, S::f64s) {
        (simd.add_f64s(a, b), simd.sub_f64s(a, b))
    }

    #[inline(always)]
    fn multiply<S: Simd>(simd: S, a: S::f64s, b: S::f64s) -> S::f64s {
        simd.mul_f64s(a, b)
    }

    #[inline(always)]
    fn multiply_add<S: Simd>(simd: S, a: S::f64s, b: S::f64s, c: S::f64s) -> S::f64s {
        simd.mul_add_f64s(a, b, c)
    }

    #[inline(always)]
    fn sum<S: Simd>(simd: S, a: S::f64s) -> Self {
        simd.reduce_sum_f64s(a)
    }
}
