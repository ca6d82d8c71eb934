/**
 * Rules that control simulated pods without annotations:
 *
 *     rules:
 *     - match: { namespace: shop, name: 'web-*', labels: { app: web }, image: 'example.com/web:*', container: main, owner: Job }
 *       behaviour: { exit-after: 2s, exit-code: [1, 1, 0], http: { /healthz: 503 } }
 *
 * An absent member of `match` matches all. Of several rules with a setting, the first counts; annotations count before all.
 */
import type { Pod } from '#api/core/v1/types.gen.js';
import { parseYAML } from '#apimachinery/codec/yaml.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { parseLabelSelector } from '#apimachinery/selectors/label-parser.js';
import { everything, type LabelSelector, selectorFromLabels } from '#apimachinery/selectors/labels.js';
import { isSetting, type SettingName, settingTable } from '#nodeagent/simulated/settings/table.js';
import { matchesGlob, SettingError, shown, text } from '#nodeagent/simulated/settings/values.js';

export interface SimulationRule {
  readonly namespace: string;
  readonly name: string;
  readonly labels: LabelSelector;
  readonly image: string;
  readonly container: string;
  /** Kind of the pod's controller. */
  readonly owner: string;
  readonly settings: ReadonlyMap<SettingName, unknown>;
}

export interface GivenRules {
  readonly rules: readonly SimulationRule[];
  /** The same as they were given. */
  readonly source: readonly unknown[];
}

/** The faults of a file of rules, one a line. */
export class RulesError extends Error {
  override readonly name = 'RulesError';
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(faults.join('\n'));
    this.faults = faults;
  }
}

/** Facts of a pod that rules read. */
export interface MatchedPod {
  readonly namespace: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Kind of its controller; empty without one. */
  readonly owner: string;
}

const maxRules = 1000;
const globs = ['namespace', 'name', 'image', 'container', 'owner'] as const;

/** Rules of a YAML or JSON text, or of its parsed value. Throws RulesError with all faults. */
export function parseRules(given: unknown): GivenRules {
  const faults: string[] = [];
  const value = typeof given === 'string' ? parsed(given) : given;
  const list = listOf(value);
  if (list === undefined) throw new RulesError(['a list of rules is expected: rules: [{match: …, behaviour: …}]']);
  if (list.length > maxRules) throw new RulesError([`${list.length} rules: at most ${maxRules} are possible`]);
  const rules = list.map((rule, i) => parseRule(rule, `rules[${i}]`, faults));
  if (faults.length > 0) throw new RulesError(faults);
  return { rules, source: list };
}

function parsed(given: string): unknown {
  try {
    return parseYAML(given) ?? [];
  } catch (error) {
    throw new RulesError([messageOf(error)]);
  }
}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function listOf(value: unknown): readonly unknown[] | undefined {
  if (Array.isArray(value)) return value;
  if (!isMap(value)) return undefined;
  const { rules = [], ...others } = value;
  return Array.isArray(rules) && Object.keys(others).length === 0 ? rules : undefined;
}

function parseRule(rule: unknown, path: string, faults: string[]): SimulationRule {
  const { match = {}, behaviour, ...others } = isMap(rule) ? rule : {};
  if (!isMap(rule)) faults.push(`${path}: ${shown(rule)} is not a rule with match and behaviour`);
  for (const name of Object.keys(others)) faults.push(`${path}.${name}: unknown field`);
  if (!isMap(match)) faults.push(`${path}.match: ${shown(match)} is not a map`);
  const conditions = isMap(match) ? match : {};
  for (const name of Object.keys(conditions)) {
    if (name !== 'labels' && !globs.some((each) => each === name)) faults.push(`${path}.match.${name}: unknown field`);
  }
  const glob = (name: (typeof globs)[number]) =>
    conditions[name] === undefined
      ? '*'
      : (guarded(`${path}.match.${name}`, faults, () => text(conditions[name])) ?? '*');
  const settings = new Map<SettingName, unknown>();
  if (isMap(behaviour)) {
    for (const [name, given] of Object.entries(behaviour)) {
      const at = `${path}.behaviour.${name}`;
      if (isSetting(name))
        settings.set(
          name,
          guarded(at, faults, () => settingTable[name].parse(given)),
        );
      else faults.push(`${at}: unknown setting; there are ${Object.keys(settingTable).join(', ')}`);
    }
  } else if (isMap(rule)) faults.push(`${path}.behaviour: a map of settings is required`);
  if (conditions['container'] !== undefined || conditions['image'] !== undefined) {
    for (const name of settings.keys()) {
      if (!settingTable[name].ofContainers)
        faults.push(`${path}.behaviour.${name}: is of whole pods, and the rule matches containers`);
    }
  }
  return {
    namespace: glob('namespace'),
    name: glob('name'),
    image: glob('image'),
    container: glob('container'),
    owner: glob('owner'),
    labels: guarded(`${path}.match.labels`, faults, () => labelsOf(conditions['labels'])) ?? everything,
    settings,
  };
}

/** A map of labels, or the text of a selector. */
function labelsOf(value: unknown): LabelSelector {
  if (value === undefined) return everything;
  if (typeof value === 'string') return parseLabelSelector(value);
  if (!isMap(value)) throw new SettingError(`${shown(value)} is neither labels nor a selector`);
  return selectorFromLabels(Object.fromEntries(Object.entries(value).map(([name, given]) => [name, text(given)])));
}

function guarded<T>(path: string, faults: string[], parse: () => T): T | undefined {
  try {
    return parse();
  } catch (error) {
    faults.push(`${path}: ${messageOf(error)}`);
    return undefined;
  }
}

export function matchesPod(rule: SimulationRule, pod: MatchedPod): boolean {
  return (
    matchesGlob(rule.namespace, pod.namespace) &&
    matchesGlob(rule.name, pod.name) &&
    matchesGlob(rule.owner, pod.owner) &&
    rule.labels.matches(pod.labels)
  );
}

/** `container` absent: for settings of the whole pod. */
export function matchesContainer(
  rule: SimulationRule,
  container: { name: string; image: string } | undefined,
): boolean {
  if (container === undefined) return rule.container === '*' && rule.image === '*';
  return matchesGlob(rule.container, container.name) && matchesGlob(rule.image, container.image);
}

/** Kind of the pod's controller; empty without one. */
export function ownerKind(pod: Pod | undefined): string {
  return pod?.metadata.ownerReferences?.find(({ controller }) => controller === true)?.kind ?? '';
}
