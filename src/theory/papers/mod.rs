//! The five papers, each in a file or folder that follows its numbering.

/// Wang, *Simple and almost assumption-free out-of-sample bound for random feature mapping*.
pub mod wang;

/// Rudi & Rosasco, *Generalization properties of learning with random features*.
pub mod rudi_rosasco;

/// Li, *Sharp analysis of random Fourier features in classification*.
pub mod li;

/// Shahrampour & Kolouri, *On sampling random features from empirical leverage scores*.
pub mod shahrampour_kolouri;

/// Avron et al., *Random Fourier features for kernel ridge regression*: spectral approximation.
pub mod avron;
