/**
 * Which versions and resources of the API are served: `--runtime-config` with the rules of 1.24
 * (`staging/src/k8s.io/apiserver/pkg/server/resourceconfig`).
 */
import { quoted } from '#apimachinery/errors/shown.js';
import type { ResourceInfo } from '#apimachinery/schema/scheme.js';
import { OptionsError } from '#daemon/options/option.js';

/** Families of versions, in the order in which they are applied. */
const families: readonly (readonly [key: string, versions: RegExp])[] = [
  ['api/all', /^/],
  ['api/ga', /^v\d+$/],
  ['api/beta', /^v\d+beta\d+$/],
  ['api/alpha', /^v\d+alpha\d+$/],
];

const familyKeys: ReadonlySet<string> = new Set(families.map(([key]) => key));

/** As Go reads booleans; a key without a value turns on. */
const on: ReadonlySet<string> = new Set(['', '1', 't', 'T', 'true', 'TRUE', 'True']);
const off: ReadonlySet<string> = new Set(['0', 'f', 'F', 'false', 'FALSE', 'False']);

export type RuntimeConfig = Readonly<Record<string, string>>;

/** What one key speaks of. */
interface Subject {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly resource: string | undefined;
}

/** Other forms of `/v1`: 1.24 takes what follows them for nothing. */
const coreForms = /^(api\/)?v1(\/|$)/;

/** `v1`, `/v1`, `api/v1`, `apps/v1` or `apps/v1/deployments`; undefined for anything else. */
function subjectOf(key: string): Subject | undefined {
  if (coreForms.test(key)) return { group: '', version: 'v1', resource: undefined };
  const parts = key.split('/');
  if (parts.length === 1) parts.unshift('');
  const [group = '', version = '', resource] = parts;
  if (parts.length > 3 || !/^[a-z0-9.-]*$/.test(group) || !/^[a-z0-9]+$/.test(version)) return undefined;
  if (group === '' && !/^v\d/.test(version)) return undefined;
  return resource === undefined || /^[a-z0-9]+$/.test(resource) ? { group, version, resource } : undefined;
}

/** What is wrong with the option whatever the server serves. */
export function runtimeConfigErrors(config: RuntimeConfig): string[] {
  if (config['api/all'] === 'false' && Object.keys(config).length === 1) return ['invalid key with only api/all=false'];
  const unread = Object.keys(config).find((key) => !familyKeys.has(key) && subjectOf(key) === undefined);
  return unread === undefined ? [] : [`runtime-config invalid key ${unread}`];
}

/** The first value that is none, when what is served is worked out. */
function valueError(config: RuntimeConfig): string | undefined {
  for (const [key, value] of Object.entries(config)) {
    if (familyKeys.has(key)) {
      if (value !== 'true' && value !== 'false') return `invalid value ${key}=${value}`;
    } else if (!on.has(value) && !off.has(value)) {
      return `invalid value of ${key}: ${value}, err: strconv.ParseBool: parsing ${quoted(value)}: invalid syntax`;
    }
  }
  return undefined;
}

/**
 * Tells what is served of `resources`, all that there are. Versions are on unless they are alpha; families of versions
 * come first, then single versions, then single resources, each of which overrules those before. A resource with a
 * feature gate of its own needs the gate and nothing else: 1.24 asks for this option as well, which tells nobody why
 * the feature that they turned on is not there. Throws OptionsError for groups and versions that do not exist.
 */
export function apiEnablement(
  config: RuntimeConfig,
  resources: readonly ResourceInfo[],
): (info: Pick<ResourceInfo, 'groupName' | 'declaration'>) => boolean {
  const groups = new Set(resources.map(({ groupName }) => groupName));
  const versions = new Set(resources.map(({ groupName, declaration }) => `${groupName}/${declaration.version}`));
  const messages: string[] = [];
  const chosen = new Map<string, boolean>();
  for (const [key, value] of Object.entries(config)) {
    const subject = familyKeys.has(key) ? undefined : subjectOf(key);
    if (subject === undefined) continue;
    const { group, version, resource } = subject;
    if (!groups.has(group)) messages.push(`unknown api groups ${group}`);
    else if (!versions.has(`${group}/${version}`)) {
      const shown = group === '' ? version : `${group}/${version}`;
      messages.push(`group version ${shown} that has not been registered`);
    }
    chosen.set([group, version, ...(resource === undefined ? [] : [resource])].join('/'), on.has(value));
  }
  if (messages.length > 0) throw new OptionsError(messages);
  const wrong = valueError(config);
  if (wrong !== undefined) throw new OptionsError([wrong]);
  return ({ groupName, declaration: { version, resource, featureGate } }) =>
    chosen.get(`${groupName}/${version}/${resource}`) ??
    chosen.get(`${groupName}/${version}`) ??
    isFamilyOn(config, version, featureGate !== undefined);
}

function isFamilyOn(config: RuntimeConfig, version: string, gated: boolean): boolean {
  let isOn = gated || !/alpha/.test(version);
  for (const [key, versions] of families) {
    if (config[key] !== undefined && versions.test(version)) isOn = config[key] === 'true';
  }
  return isOn;
}
