/** Ranges of numbers (specification 3, 2.1 and 8; validation of release 1.24). */
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { isQuantity, quantitySign } from '#apimachinery/quantity.js';
import type { Rule } from '#daemon/options/validate.js';
import type { NodeAgentOptions } from '#nodeagent/options/declarations.js';
import { label, type NumberOption } from '#nodeagent/options/label.js';

/** Inclusive bounds. Port 0 lets the system choose; for other ports, 0 disables them. */
const ranges: readonly (readonly [name: NumberOption, min: number, max: number])[] = [
  ['port', 0, 65_535],
  ['read-only-port', 0, 65_535],
  ['oom-score-adj', -1000, 1000],
  ['image-gc-high-threshold', 0, 100],
  ['image-gc-low-threshold', 0, 100],
  ['iptables-drop-bit', 0, 31],
  ['iptables-masquerade-bit', 0, 31],
];

const minima: readonly (readonly [name: NumberOption, min: number])[] = [
  ['node-status-max-images', -1],
  ['pod-max-pids', -1],
  ['container-log-max-files', 2],
  ['node-lease-duration-seconds', 1],
];

const notNegative: readonly NumberOption[] = [
  'event-burst',
  'event-qps',
  'file-check-frequency',
  'http-check-frequency',
  'max-open-files',
  'max-pods',
  'minimum-image-ttl-duration',
  'orch-api-burst',
  'orch-api-qps',
  'pods-per-core',
  'registry-burst',
  'registry-qps',
  'streaming-connection-idle-timeout',
  'v',
];

const positive: readonly NumberOption[] = [
  'node-status-report-frequency',
  'node-status-update-frequency',
  'runtime-request-timeout',
  'sync-frequency',
];

const contentTypes: readonly string[] = [
  '',
  'application/json',
  orchDialect.protobufMediaType,
  kubernetesDialect.protobufMediaType,
];

export const limitRules: Rule<NodeAgentOptions> = (values) => {
  const messages: string[] = [];
  for (const [name, min, max] of ranges) {
    if (values[name] < min || values[name] > max) {
      messages.push(`${label(name)} ${values[name]} must be between ${min} and ${max}, inclusive`);
    }
  }
  for (const [name, min] of minima) {
    if (values[name] < min) messages.push(`${label(name)} ${values[name]} must be ${min} or greater`);
  }
  for (const name of notNegative) {
    if (values[name] < 0) messages.push(`${label(name)} ${values[name]} must not be a negative number`);
  }
  for (const name of positive) {
    if (values[name] <= 0) messages.push(`${label(name)} ${values[name]} must be greater than zero`);
  }
  const factor = values['memory-throttling-factor'];
  // Also rejects NaN.
  if (!(factor > 0 && factor <= 1)) {
    messages.push(
      `${label('memory-throttling-factor')} ${factor} must be greater than 0 and less than or equal to 1.0`,
    );
  }
  const contentType = values['orch-api-content-type'];
  if (!contentTypes.includes(contentType)) {
    messages.push(
      `${label('orch-api-content-type')} ${JSON.stringify(contentType)} must be one of ${contentTypes.join(', ')}`,
    );
  }
  const low = values['image-gc-low-threshold'];
  const high = values['image-gc-high-threshold'];
  if (low >= high) {
    messages.push(
      `${label('image-gc-low-threshold')} ${low} must be less than ${label('image-gc-high-threshold')} ${high}`,
    );
  }
  if (values['iptables-drop-bit'] === values['iptables-masquerade-bit']) {
    messages.push(`${label('iptables-drop-bit')} must differ from ${label('iptables-masquerade-bit')}`);
  }
  const healthzPort = values['healthz-port'];
  if (healthzPort < 0 || healthzPort > 65_535) {
    messages.push(`${label('healthz-port')} ${healthzPort} must be between 1 and 65535, inclusive`);
  }
  const size = values['container-log-max-size'];
  if (!isQuantity(size) || quantitySign(size) < 0) {
    messages.push(`${label('container-log-max-size')} ${JSON.stringify(size)} must be a quantity that is not negative`);
  }
  return messages;
};
