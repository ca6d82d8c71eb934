import type { Tracer, TracerSetup } from '#daemon/tracing/tracer.js';

/** The libraries are loaded only here: a daemon that traces nothing does without their memory. */
export async function openTracer(setup: TracerSetup): Promise<Tracer> {
  const { OtlpTracer } = await import('#daemon/tracing/otlp-tracer.js');
  return new OtlpTracer(setup);
}
