/** The audit log. */
import { Auditor } from '#apiserver/audit/auditor.js';
import { BufferedSink } from '#apiserver/audit/buffered-sink.js';
import { auditVersion } from '#apiserver/audit/event.js';
import { LogFile } from '#apiserver/audit/log-file.js';
import { LogSink, StandardOutput } from '#apiserver/audit/log-sink.js';
import { AuditMetrics } from '#apiserver/audit/metrics.js';
import { PolicyRules } from '#apiserver/audit/policy.js';
import { truncatedNote } from '#apiserver/audit/request-audit.js';
import type { AuditSink, BatchSink } from '#apiserver/audit/sink.js';
import { TruncatingSink } from '#apiserver/audit/truncating-sink.js';
import { WebhookSink } from '#apiserver/audit/webhook-sink.js';
import { readAuditPolicy } from '#apiserver/build/audit-policy.js';
import type { ServerEnvironment } from '#apiserver/build/environment.js';
import { openBackend } from '#apiserver/build/webhook-backend.js';
import type { ApiServerValues } from '#apiserver/options/options.js';
import type { Codec } from '#apiserver/resources/codec.js';

/** Creates the auditor for a server's codec. */
type MakeAuditor = (codec: Codec) => Auditor;

/** The options that both backends have. */
interface BackendOptions {
  readonly batch: boolean;
  readonly bufferSize: number;
  readonly maxBatchSize: number;
  readonly maxWaitMs: number;
  readonly throttled: boolean;
  readonly qps: number;
  readonly burst: number;
  readonly truncates: boolean;
  readonly maxEventBytes: number;
  readonly maxBatchBytes: number;
  /** Batches sent at once. */
  readonly parallel: number;
}

function logOptions(values: ApiServerValues): BackendOptions {
  return {
    batch: values['audit-log-mode'] === 'batch',
    bufferSize: values['audit-log-batch-buffer-size'],
    maxBatchSize: values['audit-log-batch-max-size'],
    maxWaitMs: values['audit-log-batch-max-wait'],
    throttled: values['audit-log-batch-throttle-enable'],
    qps: values['audit-log-batch-throttle-qps'],
    burst: values['audit-log-batch-throttle-burst'],
    truncates: values['audit-log-truncate-enabled'],
    maxEventBytes: values['audit-log-truncate-max-event-size'],
    maxBatchBytes: values['audit-log-truncate-max-batch-size'],
    parallel: 1,
  };
}

function webhookOptions(values: ApiServerValues): BackendOptions {
  return {
    batch: values['audit-webhook-mode'] === 'batch',
    bufferSize: values['audit-webhook-batch-buffer-size'],
    maxBatchSize: values['audit-webhook-batch-max-size'],
    maxWaitMs: values['audit-webhook-batch-max-wait'],
    throttled: values['audit-webhook-batch-throttle-enable'],
    qps: values['audit-webhook-batch-throttle-qps'],
    burst: values['audit-webhook-batch-throttle-burst'],
    truncates: values['audit-webhook-truncate-enabled'],
    maxEventBytes: values['audit-webhook-truncate-max-event-size'],
    maxBatchBytes: values['audit-webhook-truncate-max-batch-size'],
    parallel: 4,
  };
}

const mebibyte = 1024 * 1024;
/** The default of 1.24's library. */
const defaultMegabytes = 100;

/** Returns undefined if no backend is configured; requests then have no auditing cost. Throws OptionsError. */
export async function buildAudit(
  values: ApiServerValues,
  environment: ServerEnvironment,
): Promise<MakeAuditor | undefined> {
  const { dialect, clock, log } = environment;
  // Like 1.24, expose the metrics even without an audit log.
  const metrics = new AuditMetrics(environment.metrics);
  const policyFile = values['audit-policy-file'] ?? '';
  const policy = policyFile === '' ? undefined : await readAuditPolicy(policyFile, dialect);
  const makers = [logSink(values, environment), await webhookSink(values, environment)].filter(
    (make) => make !== undefined,
  );
  if (makers.length === 0) return undefined;
  if (policy === undefined) {
    log.info('No audit policy file provided, no events will be recorded');
    return undefined;
  }
  const rules = new PolicyRules(policy);
  const sinks = makers.map((make) => make(metrics));
  const strict = [values['audit-log-mode'], values['audit-webhook-mode']].includes('blocking-strict');
  return (codec) => new Auditor({ dialect, codec, clock, rules, sinks, strict, metrics });
}

type MakeSink = (metrics: AuditMetrics) => AuditSink;

function logSink(values: ApiServerValues, environment: ServerEnvironment): MakeSink | undefined {
  const { clock, log } = environment;
  const path = values['audit-log-path'] ?? '';
  if (path === '') return undefined;
  const megabytes = values['audit-log-maxsize'];
  const lines =
    path === '-'
      ? new StandardOutput()
      : new LogFile({
          path,
          maxBytes: (megabytes === 0 ? defaultMegabytes : megabytes) * mebibyte,
          retention: {
            maxBackups: values['audit-log-maxbackup'],
            maxAge: values['audit-log-maxage'],
            compress: values['audit-log-compress'],
          },
          clock,
          log,
        });
  const format = values['audit-log-format'] === 'legacy' ? 'legacy' : 'json';
  return (metrics) =>
    wrapSink(new LogSink({ lines, format, metrics, log }), logOptions(values), { ...environment, metrics });
}

async function webhookSink(values: ApiServerValues, environment: ServerEnvironment): Promise<MakeSink | undefined> {
  const { dialect, log } = environment;
  const option = 'audit-webhook-config-file';
  const backend = await openBackend({ name: option }, values[option], environment, {
    initialBackoffMs: values['audit-webhook-initial-backoff'],
    // As in 1.24, hardly any failure justifies the loss of events.
    retriesAll: true,
  });
  if (backend === undefined) return undefined;
  return (metrics) => {
    const sink = new WebhookSink({ backend, apiVersion: auditVersion(dialect), metrics, log });
    return wrapSink(sink, webhookOptions(values), { ...environment, metrics });
  };
}

interface SinkEnvironment extends Pick<ServerEnvironment, 'dialect' | 'clock' | 'log'> {
  readonly metrics: AuditMetrics;
}

/** Adds truncation and batching as the backend's options say. */
function wrapSink(plain: BatchSink, options: BackendOptions, environment: SinkEnvironment): AuditSink {
  const { dialect, clock, log, metrics } = environment;
  const shared = { clock, log, metrics };
  const { maxEventBytes, maxBatchBytes, qps, burst } = options;
  const note = truncatedNote(dialect);
  const sink = options.truncates
    ? new TruncatingSink({ sink: plain, maxEventBytes, maxBatchBytes, note, ...shared })
    : plain;
  if (!options.batch) return { write: (event) => sink.writeAll([event]), close: () => sink.close() };
  const { bufferSize, maxBatchSize, maxWaitMs, parallel } = options;
  return new BufferedSink({
    sink,
    bufferSize,
    maxBatchSize,
    maxWaitMs,
    parallel,
    ...(options.throttled ? { throttle: { qps, burst } } : {}),
    ...shared,
  });
}
