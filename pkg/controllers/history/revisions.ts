/** Templates that a workload had, kept as ControllerRevisions. The rules of release 1.24 (pkg/controller/history). Pure. */

import type { ControllerRevision } from '#api/apps/v1/types.gen.js';
import type { PodTemplateSpec } from '#api/core/v1/types.gen.js';
import type { ObjectMeta } from '#api/meta/v1/types.gen.js';
import type { RawExtension } from '#api/runtime/types.gen.js';
import { schemeFor } from '#api/scheme.js';
import { withNulls } from '#apimachinery/codec/json/empty-members.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { goJson } from '#apimachinery/go-json.js';
import { compareInt64, successor } from '#apimachinery/int64.js';
import { sameTemplate } from '#controllers/deployment/template-hash.js';

/** Longest part of the owner's name in a revision's name. */
const maxPrefixLength = 223;

/**
 * The patch that brings the template back: what clients apply to undo a rollout. Its JSON is that of release 1.24, which
 * compares it byte by byte: members in order, and nulls where it writes them.
 */
export function revisionData(dialect: Dialect, template: PodTemplateSpec): RawExtension {
  const type = schemeFor(dialect).type('core.v1.PodTemplateSpec');
  const whole = { ...withNulls(type, template), $patch: 'replace' };
  return JSON.parse(goJson({ spec: { template: whole } })) as RawExtension;
}

/** The template that a revision keeps; empty where the revision is not one of a template. */
export function templateOf(revision: ControllerRevision): PodTemplateSpec {
  const spec = revision.data?.['spec'] as { template?: PodTemplateSpec & { $patch?: string } } | undefined;
  const { $patch: _patch, ...template } = spec?.template ?? {};
  return withoutNulls(template);
}

/** No member of a template that is null says anything. */
function withoutNulls<T>(value: T): T {
  if (Array.isArray(value)) return value.map(withoutNulls) as T;
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).filter(([, member]) => member !== null);
  return Object.fromEntries(members.map(([name, member]) => [name, withoutNulls(member)])) as T;
}

/** What a revision of an owner is made from. */
export interface RevisionSource {
  readonly owner: { readonly metadata: ObjectMeta };
  readonly template: PodTemplateSpec;
  /** The label that gets the hash. */
  readonly hashLabel: string;
  /** What names a revision of that data, after so many collisions. */
  readonly hashOf: (data: RawExtension, collisionCount: number) => string;
}

/** A new revision, without owner reference. `collisionCount` tells apart what hashes alike. */
export function newRevision(
  dialect: Dialect,
  { owner, template, hashLabel, hashOf }: RevisionSource,
  revision: number | bigint,
  collisionCount: number,
): ControllerRevision {
  const { name = '', namespace = '', annotations } = owner.metadata;
  const data = revisionData(dialect, template);
  const hash = hashOf(data, collisionCount);
  return {
    metadata: {
      name: `${name.slice(0, maxPrefixLength)}-${hash}`,
      namespace,
      labels: { ...template.metadata?.labels, [hashLabel]: hash },
      ...(annotations === undefined ? {} : { annotations }),
    },
    data,
    revision,
  };
}

/** Oldest first: by number, then time, then name. */
export function sortedRevisions(revisions: readonly ControllerRevision[]): ControllerRevision[] {
  return [...revisions].sort(
    (a, b) =>
      compareInt64(a.revision, b.revision) ||
      compareText(a.metadata.creationTimestamp ?? '', b.metadata.creationTimestamp ?? '') ||
      compareText(a.metadata.name ?? '', b.metadata.name ?? ''),
  );
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

export type RevisionPlan =
  /** The newest revision has the template. */
  | { readonly kind: 'keep'; readonly revision: ControllerRevision }
  /** An earlier one has it: it becomes the newest. */
  | { readonly kind: 'renumber'; readonly revision: ControllerRevision; readonly number: number | bigint }
  | { readonly kind: 'create'; readonly number: number | bigint };

/** What makes the template the newest of the sorted revisions. */
export function planRevision(
  dialect: Dialect,
  revisions: readonly ControllerRevision[],
  template: PodTemplateSpec,
): RevisionPlan {
  const newest = revisions.at(-1);
  const number = successor(newest?.revision ?? 0);
  const equal = revisions.findLast((revision) => hasTemplate(dialect, revision, template));
  if (equal === undefined) return { kind: 'create', number };
  return equal === newest ? { kind: 'keep', revision: equal } : { kind: 'renumber', revision: equal, number };
}

export function hasTemplate(dialect: Dialect, revision: ControllerRevision, template: PodTemplateSpec): boolean {
  return sameTemplate(dialect, templateOf(revision), template);
}
