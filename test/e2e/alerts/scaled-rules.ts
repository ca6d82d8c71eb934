/**
 * Rules with shortened times, so that the cause of an alert has to last for seconds only: `for`, the windows of range
 * selectors, and how far `predict_linear` looks ahead. Thresholds do not change, not even times such as the three days
 * before a certificate expires. Pure.
 */
import type { RuleFile } from '#observe/rules/rules.js';

const unitSeconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

/** Every duration divided by `factor`: of 60, five minutes become five seconds. */
export function scaledRules({ groups }: RuleFile, factor: number): RuleFile {
  return {
    groups: groups.map((group) => ({
      ...group,
      rules: group.rules.map((rule) => ({
        ...rule,
        expr: scaledExpression(rule.expr, factor),
        ...(rule.for === undefined ? {} : { for: scaledDuration(rule.for, factor) }),
      })),
    })),
  };
}

function scaledExpression(expression: string, factor: number): string {
  return expression
    .replaceAll(/\[(\w+)\]/g, (_, window: string) => `[${scaledDuration(window, factor)}]`)
    .replaceAll(
      /(predict_linear\([^)]*, )(\d+) \* (\d+)\)/g,
      (_, before: string, count: string, seconds: string) => `${before}${(Number(count) * Number(seconds)) / factor})`,
    );
}

/** The scaled duration in milliseconds. Throws RangeError unless the duration has exactly one unit. */
function scaledDuration(duration: string, factor: number): string {
  const [, count, unit = ''] = /^(\d+)([smhd])$/.exec(duration) ?? [];
  const seconds = unitSeconds[unit];
  if (seconds === undefined) throw new RangeError(`no duration of one unit: ${duration}`);
  return `${Math.round((Number(count) * seconds * 1000) / factor)}ms`;
}
