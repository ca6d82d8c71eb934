/** The policy of a namespace: a level and version for each mode, from its labels or the server's defaults. */
import type { Dialect } from '#apimachinery/dialect.js';
import type { FieldFailure } from '#apimachinery/errors/status.js';
import { perDialect } from '#apimachinery/memo/once-per.js';
import { invalidValue } from '#apimachinery/validation/failure.js';
import { FieldPath } from '#apimachinery/validation/path.js';
import {
  type Level,
  type LevelVersion,
  latestVersion,
  levelRule,
  parseLevel,
  parseVersion,
  type Version,
  versionRule,
} from '#apiserver/admission/podsecurity/standards/level.js';

/** What happens to a pod that violates the level of a mode: it is refused, audited, or its client is warned. */
const modes = ['enforce', 'audit', 'warn'] as const;

export type Mode = (typeof modes)[number];

export type Policy = Readonly<Record<Mode, LevelVersion>>;

type Labels = Readonly<Record<string, string>> | undefined;

/** Prefix of the labels on namespaces and of the annotations in audit events. */
export const podSecurityPrefix = perDialect(({ labelDomain }) => `pod-security.${labelDomain}/`);

interface ModeLabels {
  readonly mode: Mode;
  readonly level: string;
  readonly version: string;
}

const labelsOf = perDialect((dialect): readonly ModeLabels[] => {
  const prefix = podSecurityPrefix(dialect);
  return modes.map((mode) => ({ mode, level: `${prefix}${mode}`, version: `${prefix}${mode}-version` }));
});

const labelsPath = FieldPath.of('metadata', 'labels');

/**
 * The policy, and the failures of invalid labels. Like 1.24, an invalid level counts as `restricted` for `enforce` and as
 * `privileged` for the other modes; an invalid version counts as `latest`.
 */
export function policyOf(
  labels: Labels,
  defaults: Policy,
  dialect: Dialect,
): { readonly policy: Policy; readonly failures: readonly FieldFailure[] } {
  if (labels === undefined || !labelsOf(dialect).some(({ level, version }) => level in labels || version in labels)) {
    return { policy: defaults, failures: [] };
  }
  const failures: FieldFailure[] = [];
  const policy: Record<Mode, LevelVersion> = { ...defaults };
  for (const { mode, level: levelLabel, version: versionLabel } of labelsOf(dialect)) {
    const level = parsed<Level>(labels, levelLabel, { parse: parseLevel, rule: levelRule }, failures);
    const version = parsed<Version>(labels, versionLabel, { parse: parseVersion, rule: versionRule }, failures);
    policy[mode] = {
      level: level === invalidLabel ? invalidLevels[mode] : (level ?? defaults[mode].level),
      version: version === invalidLabel ? latestVersion : (version ?? defaults[mode].version),
    };
  }
  return { policy, failures };
}

const invalidLevels: Readonly<Record<Mode, Level>> = {
  enforce: 'restricted',
  audit: 'privileged',
  warn: 'privileged',
};

const invalidLabel = Symbol('invalid label');

interface LabelType<T> {
  readonly parse: (text: string) => T | undefined;
  readonly rule: string;
}

/** The value of a label, undefined without the label. */
function parsed<T>(
  labels: NonNullable<Labels>,
  label: string,
  { parse, rule }: LabelType<T>,
  failures: FieldFailure[],
): T | undefined | typeof invalidLabel {
  const text = labels[label];
  if (text === undefined) return undefined;
  const value = parse(text);
  if (value !== undefined) return value;
  failures.push(invalidValue(labelsPath.key(label), text, rule));
  return invalidLabel;
}
