/** Creates the tracer of `--tracing-config-file`. */
import { readFile } from 'node:fs/promises';
import type { Dialect } from '#apimachinery/dialect.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { OptionsError } from '#daemon/options/option.js';
import type { Tracer, TracerSetup } from '#daemon/tracing/tracer.js';
import { parseTracingConfig } from '#daemon/tracing/tracing-config.js';

const option = '--tracing-config-file';

interface TracingSetup extends Omit<TracerSetup, 'config'> {
  readonly dialect: Dialect;
}

/**
 * Undefined without a path. Rejects with an OptionsError. Loads the libraries only here, so a daemon without tracing
 * needs no memory for them.
 */
export async function openTracer(path: string | undefined, setup: TracingSetup): Promise<Tracer | undefined> {
  if (path === undefined || path === '') return undefined;
  const { dialect, ...rest } = setup;
  const config = await readConfig(path, dialect);
  const { OtlpTracer } = await import('#daemon/tracing/otlp-tracer.js');
  return new OtlpTracer({ ...rest, config });
}

async function readConfig(path: string, dialect: Dialect): Promise<TracerSetup['config']> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    throw new OptionsError([`${option}: ${messageOf(error)}`]);
  }
  try {
    return parseTracingConfig(text, dialect);
  } catch (error) {
    if (!(error instanceof OptionsError)) throw error;
    throw new OptionsError(error.messages.map((message) => `${option}: ${path}: ${message}`));
  }
}
