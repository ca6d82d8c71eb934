/** Creates or completes the cluster's own objects at every start. */
import { namespaces } from '#api/core/v1/resources.gen.js';
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
import { uncoveredRules } from '#apiserver/authorization/rbac/rule-coverage.js';
import { bootstrapClusterRoleBindings, bootstrapRoleBindings, bootstrapRoles } from '#apiserver/bootstrap/bindings.js';
import { bootstrapClusterRoles } from '#apiserver/bootstrap/cluster-roles.js';
import type { Gate } from '#apiserver/bootstrap/controller-roles.js';
import { ensureFlowControlObjects } from '#apiserver/bootstrap/flow-control-ensurer.js';
import { systemPriorityClasses } from '#apiserver/bootstrap/priority-classes.js';
import type { Client } from '#client/client.js';

export interface BootstrapOptions {
  /** A client with all rights. */
  readonly client: Client;
  readonly gate: Gate;
}

/** Limit of concurrent writes. */
const concurrency = 8;

/** Creates missing system namespaces. Idempotent. */
export async function bootstrapNamespaces(client: Client, signal?: AbortSignal): Promise<void> {
  const own = Object.values(client.dialect.namespaces).map((name) => ({ metadata: { name }, spec: {} }));
  await ensure(client, namespaces, own, signal);
}

/**
 * Creates missing objects and completes existing ones; the namespaces must exist. Idempotent; several servers may run it at once.
 */
export async function bootstrapCluster(options: BootstrapOptions, signal?: AbortSignal): Promise<void> {
  const { client } = options;
  await Promise.all([
    ensure(client, priorityclasses, systemPriorityClasses, signal),
    ensureFlowControlObjects(client, signal),
    bootstrapRbac(options, signal),
  ]);
}

async function bootstrapRbac({ client, gate }: BootstrapOptions, signal?: AbortSignal): Promise<void> {
  const { dialect } = client;
  await reconcile(
    client,
    clusterroles,
    bootstrapClusterRoles(dialect, gate),
    (desired, existing) => {
      const object = plannedRole(desired, existing, dialect);
      return object === undefined ? { kind: 'keep' } : { kind: 'update', object };
    },
    signal,
  );
  await reconcile(
    client,
    roles,
    bootstrapRoles(dialect),
    (desired, existing) => {
      const object = plannedRole(desired, existing, dialect);
      return object === undefined ? { kind: 'keep' } : { kind: 'update', object };
    },
    signal,
  );
  await Promise.all([
    reconcile(
      client,
      clusterrolebindings,
      bootstrapClusterRoleBindings(dialect, gate),
      (desired, existing) => plannedBinding(desired, existing, dialect),
      signal,
    ),
    reconcile(
      client,
      rolebindings,
      bootstrapRoleBindings(dialect),
      (desired, existing) => plannedBinding(desired, existing, dialect),
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

/** Creates missing objects. */
async function ensure<T extends ApiObjectShape>(
  client: Client,
  type: ResourceType<T>,
  desired: readonly T[],
  signal?: AbortSignal,
): Promise<void> {
  await reconcile(client, type, desired, () => ({ kind: 'keep' }), signal);
}

async function reconcile<T extends ApiObjectShape>(
  client: Client,
  type: ResourceType<T>,
  desired: readonly T[],
  plan: (desired: T, existing: T) => BindingPlan<T>,
  signal?: AbortSignal,
): Promise<void> {
  const own = client.resource(type);
  // Like 1.24, skip versions that are turned off.
  const items = await own.list(within(signal)).then(
    (list) => list.items,
    (error: unknown) => {
      if (isNotFound(error)) return undefined;
      throw error;
    },
  );
  if (items === undefined) return;
  const present = new Map(items.map((item) => [keyOf(item), item]));
  await eachOf(desired, async (object) => {
    const existing = present.get(keyOf(object));
    const scope = object.metadata.namespace === undefined ? {} : { namespace: object.metadata.namespace };
    const options = { ...scope, ...within(signal) };
    try {
      if (existing === undefined) {
        await own.create(object, options);
        return;
      }
      const step = plan(object, existing);
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
      // Another server is writing the same object.
      if (!isAlreadyExists(error) && !isConflict(error) && !isNotFound(error)) throw error;
    }
  });
}

/**
 * The existing role, completed by missing default rules; undefined if it is complete or its owner has turned updates off. Pure.
 */
export function plannedRole<T extends Role | ClusterRole>(desired: T, existing: T, dialect: Dialect): T | undefined {
  if (isProtected(existing, dialect)) return undefined;
  const metadata = withMarks(desired, existing);
  const aggregated = 'aggregationRule' in desired && desired.aggregationRule !== undefined;
  const lacks = (rule: PolicyRule) => uncoveredRules(existing.rules ?? [], [rule]).length > 0;
  const missing = aggregated ? [] : (desired.rules ?? []).filter(lacks);
  if (metadata === existing.metadata && missing.length === 0) return undefined;
  return missing.length === 0
    ? { ...existing, metadata }
    : { ...existing, metadata, rules: [...(existing.rules ?? []), ...missing] };
}

type BindingPlan<T> =
  | { readonly kind: 'keep' }
  | { readonly kind: 'update'; readonly object: T }
  /** A binding's role cannot be changed. */
  | { readonly kind: 'recreate'; readonly object: T };

export function plannedBinding<T extends RoleBinding | ClusterRoleBinding>(
  desired: T,
  existing: T,
  dialect: Dialect,
): BindingPlan<T> {
  if (isProtected(existing, dialect)) return { kind: 'keep' };
  const { roleRef } = existing;
  const subjects = withMissing(existing.subjects ?? [], desired.subjects ?? []);
  if (roleRef.kind !== desired.roleRef.kind || roleRef.name !== desired.roleRef.name)
    return { kind: 'recreate', object: { ...desired, subjects } };
  const metadata = withMarks(desired, existing);
  if (metadata === existing.metadata && subjects.length === (existing.subjects ?? []).length) return { kind: 'keep' };
  return { kind: 'update', object: { ...existing, metadata, subjects } };
}

function isProtected(existing: ApiObjectShape, dialect: Dialect): boolean {
  return existing.metadata.annotations?.[dialect.annotations.autoUpdate] === 'false';
}

/** Adds missing labels and annotations; returns the same metadata if none is missing. Existing values stay. */
function withMarks(desired: ApiObjectShape, existing: ApiObjectShape): ApiObjectShape['metadata'] {
  const { labels = {}, annotations = {} } = existing.metadata;
  const lacks = (has: Record<string, string>, needs: Record<string, string> = {}) =>
    Object.keys(needs).some((key) => !(key in has));
  if (!lacks(labels, desired.metadata.labels) && !lacks(annotations, desired.metadata.annotations))
    return existing.metadata;
  return {
    ...existing.metadata,
    labels: { ...desired.metadata.labels, ...labels },
    annotations: { ...desired.metadata.annotations, ...annotations },
  };
}

function withMissing(existing: readonly Subject[], desired: readonly Subject[]): Subject[] {
  const same = (a: Subject, b: Subject) =>
    a.kind === b.kind && a.name === b.name && (a.namespace ?? '') === (b.namespace ?? '');
  return [...existing, ...desired.filter((subject) => !existing.some((has) => same(has, subject)))];
}
