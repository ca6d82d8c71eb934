/** Thresholds of eviction (specification 3, 2.1). */

import { parseDuration } from '#apimachinery/duration.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { isQuantity, quantitySign } from '#apimachinery/quantity.js';
import type { Rule } from '#daemon/options/validate.js';
import type { NodeAgentOptions } from '#nodeagent/options/declarations.js';
import { parseEvictionThresholds } from '#nodeagent/options/eviction-thresholds.js';
import { label } from '#nodeagent/options/label.js';

/** What thresholds can be set on. */
const evictionSignals: readonly string[] = [
  'memory.available',
  'nodefs.available',
  'nodefs.inodesFree',
  'imagefs.available',
  'imagefs.inodesFree',
  'allocatableMemory.available',
  'pid.available',
];

export const evictionRules: Rule<NodeAgentOptions> = (values) => {
  const messages: string[] = [];
  for (const name of ['eviction-hard', 'eviction-soft'] as const) {
    const { thresholds, errors } = parseEvictionThresholds(values[name] ?? '');
    for (const error of errors) messages.push(`${label(name)}: ${error}`);
    for (const [signal, amount] of Object.entries(thresholds)) messages.push(...amountErrors(name, signal, amount));
  }
  const soft = parseEvictionThresholds(values['eviction-soft'] ?? '').thresholds;
  const graces = values['eviction-soft-grace-period'];
  for (const signal of Object.keys(soft)) {
    if (!Object.hasOwn(graces, signal)) {
      messages.push(
        `${label('eviction-soft-grace-period')}: grace period must be specified for the soft threshold of ${signal}`,
      );
    }
  }
  for (const [signal, grace] of Object.entries(graces)) messages.push(...graceErrors(signal, grace));
  for (const [signal, amount] of Object.entries(values['eviction-minimum-reclaim'])) {
    messages.push(...amountErrors('eviction-minimum-reclaim', signal, amount));
  }
  if (values['eviction-pressure-transition-period'] < 0) {
    messages.push(`${label('eviction-pressure-transition-period')} must not be negative`);
  }
  return messages;
};

function amountErrors(
  name: 'eviction-hard' | 'eviction-soft' | 'eviction-minimum-reclaim',
  signal: string,
  amount: string,
): string[] {
  if (!evictionSignals.includes(signal)) return [`${label(name)}: unknown signal ${JSON.stringify(signal)}`];
  if (amount.endsWith('%')) {
    const percent = Number(amount.slice(0, -1));
    return percent >= 0 && percent <= 100
      ? []
      : [`${label(name)}: ${signal}: percentage ${amount} must be between 0% and 100%`];
  }
  return isQuantity(amount) && quantitySign(amount) >= 0
    ? []
    : [`${label(name)}: ${signal}: ${JSON.stringify(amount)} must be a percentage or a quantity that is not negative`];
}

function graceErrors(signal: string, text: string): string[] {
  const name = label('eviction-soft-grace-period');
  if (!evictionSignals.includes(signal)) return [`${name}: unknown signal ${JSON.stringify(signal)}`];
  try {
    return parseDuration(text) >= 0 ? [] : [`${name}: ${signal}: ${text} must not be negative`];
  } catch (error) {
    return [`${name}: ${signal}: ${messageOf(error)}`];
  }
}
