//! Spans of requests and jobs, sent to a collector of OpenTelemetry in builds with the feature `otlp`. In other builds
//! nothing is sent, and spans are only what log lines show.

use tracing_subscriber::{Layer, Registry};

/// The layer that sends spans, if there is one.
type TraceLayer = Option<Box<dyn Layer<Registry> + Send + Sync>>;

/// The variables by which OpenTelemetry names a collector.
const ENDPOINTS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];

/// Whether this build sends spans.
pub(crate) const HAS_TRACES: bool = cfg!(feature = "otlp");

/// The spans on their way to the collector; dropped at the end of the service, it sends what is left.
#[derive(Default)]
pub(crate) struct Traces {
    #[cfg(feature = "otlp")]
    provider: Option<opentelemetry_sdk::trace::SdkTracerProvider>,
}

impl Traces {
    /// Where to is for the variables of OpenTelemetry to say; nothing is sent if they do not. The error says why nothing
    /// can be sent.
    pub(super) fn start() -> Result<(Self, TraceLayer), String> {
        let is_wanted = ENDPOINTS.iter().any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()));
        if is_wanted { sending::start() } else { Ok((Self::default(), None)) }
    }
}

#[cfg(not(feature = "otlp"))]
mod sending {
    use super::{TraceLayer, Traces};
    use crate::telemetry::TraceParent;
    use tracing::Span;

    pub(super) fn start() -> Result<(Traces, TraceLayer), String> {
        Err("this build has no exporter; build it with --features otlp".into())
    }

    /// Makes a span part of the trace of its caller.
    pub(crate) fn continue_trace(_span: &Span, _parent: Option<TraceParent>) {}

    /// The span that runs now, or else the parent that the caller named.
    pub(crate) fn trace_parent_or(named: Option<TraceParent>) -> Option<TraceParent> {
        named
    }
}

#[cfg(feature = "otlp")]
mod sending {
    use super::{TraceLayer, Traces};
    use crate::telemetry::TraceParent;
    use opentelemetry::trace::{SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState, TracerProvider};
    use opentelemetry::{Context, KeyValue};
    use opentelemetry_otlp::SpanExporter;
    use opentelemetry_sdk::Resource;
    use opentelemetry_sdk::trace::SdkTracerProvider;
    use std::time::Duration;
    use tracing::Span;
    use tracing_opentelemetry::OpenTelemetrySpanExt;
    use tracing_subscriber::Layer;
    use tracing_subscriber::filter::Targets;

    /// How long the end of the service waits for the collector.
    const LONGEST_END: Duration = Duration::from_secs(5);

    pub(super) fn start() -> Result<(Traces, TraceLayer), String> {
        let exporter = SpanExporter::builder().with_http().build().map_err(|error| error.to_string())?;
        let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
        let resource = Resource::builder().with_attribute(version);
        let resource = match std::env::var_os("OTEL_SERVICE_NAME") {
            Some(_) => resource,
            None => resource.with_service_name("bochner"),
        };
        let provider =
            SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource.build()).build();
        // Not what the exporter itself does.
        let ours = Targets::new().with_target("bochner", tracing::Level::INFO);
        let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("bochner")).with_filter(ours);
        Ok((Traces { provider: Some(provider) }, Some(layer.boxed())))
    }

    impl Drop for Traces {
        fn drop(&mut self) {
            if let Some(provider) = &self.provider
                && let Err(error) = provider.shutdown_with_timeout(LONGEST_END)
            {
                tracing::warn!(%error, "the last spans may not have reached the collector");
            }
        }
    }

    /// Makes a span part of the trace of its caller.
    pub(crate) fn continue_trace(span: &Span, parent: Option<TraceParent>) {
        let Some((trace, id, flags)) = parent.map(TraceParent::ids) else { return };
        let (trace, id) = (TraceId::from(trace), SpanId::from(id));
        let remote = SpanContext::new(trace, id, TraceFlags::new(flags), true, TraceState::default());
        // Fails only where no spans are sent.
        let _ = span.set_parent(Context::new().with_remote_span_context(remote));
    }

    /// The span that runs now, or else the parent that the caller named.
    pub(crate) fn trace_parent_or(named: Option<TraceParent>) -> Option<TraceParent> {
        let context = Span::current().context();
        let span = context.span().span_context().clone();
        let trace = u128::from_be_bytes(span.trace_id().to_bytes());
        let id = u64::from_be_bytes(span.span_id().to_bytes());
        TraceParent::new(trace, id, span.trace_flags().to_u8()).or(named)
    }
}

pub(crate) use sending::{continue_trace, trace_parent_or};
