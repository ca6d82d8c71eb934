/** Brings a new (or newer) cluster's own objects into being, at every start. */
import { namespaces } from '#api/core/v1/resources.gen.js';
import { flowschemas, prioritylevelconfigurations } from '#api/flowcontrol/v1beta2/resources.gen.js';
import type { ApiObjectShape } from '#api/meta/object.js';
import { clusterrolebindings, clusterroles, rolebindings, roles } from '#api/rbac/v1/resources.gen.js';
import type {
  ClusterRole,
  ClusterRoleBinding,
  PolicyRule,
  Role,
  RoleBinding,
  Subject,
} from '#api/rbac/v1/types.gen.js';
import { priorityclasses } from '#api/scheduling/v1/resources.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { isAlreadyExists, isConflict, isNotFound } from '#apimachinery/errors/status.js';
import type { ResourceType } from '#apimachinery/schema/schema.js';
import { uncoveredRules } from '#apiserver/authorization/rbac/covers.js';
import { bootstrapClusterRoleBindings, bootstrapRoleBindings, bootstrapRoles } from '#apiserver/bootstrap/bindings.js';
import { bootstrapClusterRoles } from '#apiserver/bootstrap/cluster-roles.js';
import type { Gate } from '#apiserver/bootstrap/controller-roles.js';
import { bootstrapFlowSchemas, bootstrapPriorityLevels } from '#apiserver/bootstrap/flow-control.js';
import { systemPriorityClasses } from '#apiserver/bootstrap/priority-classes.js';
import type { Client } from '#client/client.js';

export interface BootstrapOptions {
  /** As a member of `system:masters`. */
  readonly client: Client;
  readonly gate: Gate;
}

/** Objects written at the same time. */
const concurrency = 8;

/** Makes the cluster's own namespaces, as far as they are missing. Idempotent. */
export async function bootstrapNamespaces(client: Client, signal?: AbortSignal): Promise<void> {
  const own = Object.values(client.dialect.namespaces).map((name) => ({ metadata: { name }, spec: {} }));
  await ensure(client, namespaces, own, signal);
}

/**
 * Makes what is missing and completes what is there, in namespaces that are there. Idempotent; several servers may do it at
 * once.
 */
export async function bootstrapCluster(options: BootstrapOptions, signal?: AbortSignal): Promise<void> {
  const { client } = options;
  const { dialect } = client;
  await Promise.all([
    ensure(client, priorityclasses, systemPriorityClasses, signal),
    ensure(client, prioritylevelconfigurations, bootstrapPriorityLevels(dialect), signal),
    ensure(client, flowschemas, bootstrapFlowSchemas(dialect), signal),
    bootstrapRbac(options, signal),
  ]);
}

async function bootstrapRbac({ client, gate }: BootstrapOptions, signal?: AbortSignal): Promise<void> {
  const { dialect } = client;
  await reconcile(
    client,
    clusterroles,
    bootstrapClusterRoles(dialect, gate),
    (wanted, found) => {
      const object = plannedRole(wanted, found, dialect);
      return object === undefined ? { kind: 'keep' } : { kind: 'update', object };
    },
    signal,
  );
  await reconcile(
    client,
    roles,
    bootstrapRoles(dialect),
    (wanted, found) => {
      const object = plannedRole(wanted, found, dialect);
      return object === undefined ? { kind: 'keep' } : { kind: 'update', object };
    },
    signal,
  );
  await Promise.all([
    reconcile(
      client,
      clusterrolebindings,
      bootstrapClusterRoleBindings(dialect, gate),
      (wanted, found) => plannedBinding(wanted, found, dialect),
      signal,
    ),
    reconcile(
      client,
      rolebindings,
      bootstrapRoleBindings(dialect),
      (wanted, found) => plannedBinding(wanted, found, dialect),
      signal,
    ),
  ]);
}

const within = (signal: AbortSignal | undefined) => (signal === undefined ? {} : { signal });

async function eachOf<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const rest = items.values();
  const worker = async () => {
    for (const item of rest) await work(item);
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
}

const keyOf = ({ metadata }: ApiObjectShape) => `${metadata.namespace ?? ''}/${metadata.name ?? ''}`;

/** Creates those that do not exist. */
async function ensure<T extends ApiObjectShape>(
  client: Client,
  type: ResourceType<T>,
  wanted: readonly T[],
  signal?: AbortSignal,
): Promise<void> {
  await reconcile(client, type, wanted, () => ({ kind: 'keep' }), signal);
}

async function reconcile<T extends ApiObjectShape>(
  client: Client,
  type: ResourceType<T>,
  wanted: readonly T[],
  plan: (wanted: T, found: T) => BindingPlan<T>,
  signal?: AbortSignal,
): Promise<void> {
  const own = client.resource(type);
  // A version that is turned off has no objects to begin with, as in 1.24.
  const items = await own.list(within(signal)).then(
    (list) => list.items,
    (error: unknown) => {
      if (isNotFound(error)) return undefined;
      throw error;
    },
  );
  if (items === undefined) return;
  const present = new Map(items.map((item) => [keyOf(item), item]));
  await eachOf(wanted, async (object) => {
    const found = present.get(keyOf(object));
    const scope = object.metadata.namespace === undefined ? {} : { namespace: object.metadata.namespace };
    const options = { ...scope, ...within(signal) };
    try {
      if (found === undefined) {
        await own.create(object, options);
        return;
      }
      const step = plan(object, found);
      switch (step.kind) {
        case 'keep':
          return;
        case 'update':
          await own.update(step.object, options);
          return;
        case 'recreate':
          await own.delete(object.metadata.name ?? '', options);
          await own.create(step.object, options);
          return;
        default:
          step satisfies never;
      }
    } catch (error) {
      // Another server does the same at this moment.
      if (!isAlreadyExists(error) && !isConflict(error) && !isNotFound(error)) throw error;
    }
  });
}

/**
 * An existing role that holds at least the defaults, as it should be stored; undefined when it is good as it is, or its
 * owner turned updates off. Pure.
 */
export function plannedRole<T extends Role | ClusterRole>(wanted: T, found: T, dialect: Dialect): T | undefined {
  if (isProtected(found, dialect)) return undefined;
  const metadata = withMarks(wanted, found);
  const aggregated = 'aggregationRule' in wanted && wanted.aggregationRule !== undefined;
  const lacks = (rule: PolicyRule) => uncoveredRules(found.rules ?? [], [rule]).length > 0;
  const missing = aggregated ? [] : (wanted.rules ?? []).filter(lacks);
  if (metadata === found.metadata && missing.length === 0) return undefined;
  return missing.length === 0
    ? { ...found, metadata }
    : { ...found, metadata, rules: [...(found.rules ?? []), ...missing] };
}

type BindingPlan<T> =
  | { readonly kind: 'keep' }
  | { readonly kind: 'update'; readonly object: T }
  /** A binding's role cannot be changed. */
  | { readonly kind: 'recreate'; readonly object: T };

export function plannedBinding<T extends RoleBinding | ClusterRoleBinding>(
  wanted: T,
  found: T,
  dialect: Dialect,
): BindingPlan<T> {
  if (isProtected(found, dialect)) return { kind: 'keep' };
  const { roleRef } = found;
  const subjects = withMissing(found.subjects ?? [], wanted.subjects ?? []);
  if (roleRef.kind !== wanted.roleRef.kind || roleRef.name !== wanted.roleRef.name)
    return { kind: 'recreate', object: { ...wanted, subjects } };
  const metadata = withMarks(wanted, found);
  if (metadata === found.metadata && subjects.length === (found.subjects ?? []).length) return { kind: 'keep' };
  return { kind: 'update', object: { ...found, metadata, subjects } };
}

function isProtected(found: ApiObjectShape, dialect: Dialect): boolean {
  return found.metadata.annotations?.[dialect.annotations.autoUpdate] === 'false';
}

/** The found metadata, itself when no label or annotation is missing. What is there stays as it is. */
function withMarks(wanted: ApiObjectShape, found: ApiObjectShape): ApiObjectShape['metadata'] {
  const { labels = {}, annotations = {} } = found.metadata;
  const lacks = (has: Record<string, string>, needs: Record<string, string> = {}) =>
    Object.keys(needs).some((key) => !(key in has));
  if (!lacks(labels, wanted.metadata.labels) && !lacks(annotations, wanted.metadata.annotations)) return found.metadata;
  return {
    ...found.metadata,
    labels: { ...wanted.metadata.labels, ...labels },
    annotations: { ...wanted.metadata.annotations, ...annotations },
  };
}

function withMissing(found: readonly Subject[], wanted: readonly Subject[]): Subject[] {
  const same = (a: Subject, b: Subject) =>
    a.kind === b.kind && a.name === b.name && (a.namespace ?? '') === (b.namespace ?? '');
  return [...found, ...wanted.filter((subject) => !found.some((has) => same(has, subject)))];
}
