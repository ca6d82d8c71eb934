/**
 * Leader migration: controllers that move from one manager to another run under a lock of their own, so that at no moment
 * both managers run them. The file of `--leader-migration-config`, as in release 1.24.
 */
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { decodeFields, type FieldTable, isPlain, parseConfigText } from '#daemon/options/config-decode.js';
import { resourceLocks } from '#daemon/options/groups/leader-election.js';
import { OptionsError } from '#daemon/options/option.js';

export interface LeaderMigration {
  /** Name of the lock that the moving controllers run under. */
  readonly leaderName: string;
  /** As `--leader-elect-resource-lock` has it. */
  readonly resourceLock: string;
  /** Each moving controller and the manager that runs it; `*`: whichever holds the lock. */
  readonly controllerLeaders: readonly { readonly name: string; readonly component: string }[];
}

/** What a manager does about a controller. */
export type Placement =
  /** Moves nowhere: runs under the main lock. */
  | 'main'
  /** Runs under the migration's lock. */
  | 'migrated'
  /** Another manager's. */
  | 'elsewhere';

const kind = 'LeaderMigrationConfiguration';
const versions = ['v1alpha1', 'v1beta1', 'v1'];

const fields: FieldTable = {
  apiVersion: 'string',
  kind: 'string',
  leaderName: 'string',
  resourceLock: 'string',
  controllerLeaders: { listOf: { fields: { name: 'string', component: 'string' } } },
};

/** Without a file: what moves when the cloud's controllers leave this manager, to whichever holds the lock. */
export const defaultLeaderMigration: LeaderMigration = {
  leaderName: 'cloud-provider-extraction-migration',
  resourceLock: 'leases',
  controllerLeaders: ['route', 'service', 'cloud-node-lifecycle'].map((name) => ({ name, component: '*' })),
};

/** Throws OptionsError with everything that is wrong, the file's name in front. */
export function parseLeaderMigration(text: string, source: string): LeaderMigration {
  try {
    return decoded(text);
  } catch (error) {
    if (!(error instanceof OptionsError)) throw error;
    throw new OptionsError(error.messages.map((message) => `${source}: ${message}`));
  }
}

function decoded(text: string): LeaderMigration {
  const file = parseConfigText(text);
  const groups = [orchDialect, kubernetesDialect].map(({ apiDomain }) => `controllermanager.config.${apiDomain}`);
  const accepted = groups.flatMap((group) => versions.map((version) => `${group}/${version}`));
  if (!accepted.includes(String(file['apiVersion'])) || file['kind'] !== kind) {
    const found = `${String(file['apiVersion'])} ${String(file['kind'])}`;
    throw new OptionsError([`apiVersion and kind must be ${groups.join(' or ')}/${versions[0]} ${kind}, not ${found}`]);
  }
  const errors: string[] = [];
  const plain = decodeFields(fields, file, errors);
  const string = (value: unknown) => (typeof value === 'string' ? value : '');
  const leaderName = string(plain['leaderName']);
  if (leaderName === '') errors.push('leaderName: Required value: leaderName must be set for leader migration');
  const resourceLock = string(plain['resourceLock'] ?? 'leases');
  if (!resourceLocks.some((known) => known === resourceLock)) {
    errors.push(
      `resourceLock: Invalid value: ${JSON.stringify(resourceLock)}: must be one of ${resourceLocks.join(', ')}`,
    );
  }
  const list = Array.isArray(plain['controllerLeaders']) ? plain['controllerLeaders'].filter(isPlain) : [];
  const controllerLeaders = list.map((item) => ({ name: string(item['name']), component: string(item['component']) }));
  const seen = new Set<string>();
  for (const [i, { name, component }] of controllerLeaders.entries()) {
    const path = `controllerLeaders[${i}]`;
    if (name === '') errors.push(`${path}.name: Required value: name must be set`);
    else if (seen.has(name)) errors.push(`${path}.name: Duplicate value: ${JSON.stringify(name)}`);
    if (component === '') errors.push(`${path}.component: Required value: component must be set`);
    seen.add(name);
  }
  if (errors.length > 0) throw new OptionsError(errors);
  return { leaderName, resourceLock, controllerLeaders };
}

/** Where `controller` runs, as the manager called `component` sees it. */
export function placementOf(migration: LeaderMigration, component: string, controller: string): Placement {
  const entry = migration.controllerLeaders.find(({ name }) => name === controller);
  if (entry === undefined) return 'main';
  return entry.component === component || entry.component === '*' ? 'migrated' : 'elsewhere';
}
