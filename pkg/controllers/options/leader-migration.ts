/**
 * Leader migration: controllers that move between managers run under a separate lock, so that only one manager runs them
 * at a time. Parses the file of `--leader-migration-config`, as in release 1.24.
 */
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { decodeFields, type FieldTable, isPlain, parseConfigText } from '#daemon/options/config-decode.js';
import { resourceLocks } from '#daemon/options/groups/leader-election.js';
import { OptionsError } from '#daemon/options/option.js';

export interface LeaderMigration {
  /** The name of the lock of migrating controllers. */
  readonly leaderName: string;
  /** A value of `--leader-elect-resource-lock`. */
  readonly resourceLock: string;
  /** Migrating controllers and the manager that runs each; `*`: the manager that holds the lock. */
  readonly controllerLeaders: readonly { readonly name: string; readonly component: string }[];
}

export type Placement =
  /** Does not migrate: runs under the main lock. */
  | 'main'
  /** Runs under the migration lock. */
  | 'migrated'
  /** Runs in another manager. */
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

/** The default without a file: the cloud controllers migrate to the manager that holds the lock. */
export const defaultLeaderMigration: LeaderMigration = {
  leaderName: 'cloud-provider-extraction-migration',
  resourceLock: 'leases',
  controllerLeaders: ['route', 'service', 'cloud-node-lifecycle'].map((name) => ({ name, component: '*' })),
};

/** Throws OptionsError with all errors, each prefixed with the file's name. */
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
    const actual = `${String(file['apiVersion'])} ${String(file['kind'])}`;
    throw new OptionsError([
      `apiVersion and kind must be ${groups.join(' or ')}/${versions[0]} ${kind}, not ${actual}`,
    ]);
  }
  const errors: string[] = [];
  const plain = decodeFields(fields, file, errors);
  const string = (value: unknown) => (typeof value === 'string' ? value : '');
  const leaderName = string(plain['leaderName']);
  if (leaderName === '') errors.push('leaderName: Required value: leaderName must be set for leader migration');
  const resourceLock = string(plain['resourceLock'] ?? 'leases');
  if (!resourceLocks.some((lock) => lock === resourceLock)) {
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

/** Where the controller runs, from the view of the manager `component`. */
export function placementOf(migration: LeaderMigration, component: string, controller: string): Placement {
  const entry = migration.controllerLeaders.find(({ name }) => name === controller);
  if (entry === undefined) return 'main';
  return entry.component === component || entry.component === '*' ? 'migrated' : 'elsewhere';
}
