/** Templates that a workload had, kept as ControllerRevisions. The rules of release 1.24 (pkg/controller/history). Pure. */

import type { ControllerRevision } from '#api/apps/v1/types.gen.js';
import type { PodTemplateSpec } from '#api/core/v1/types.gen.js';
import type { ObjectMeta } from '#api/meta/v1/types.gen.js';
import type { RawExtension } from '#api/runtime/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { compareInt64, successor } from '#apimachinery/int64.js';
import { hashOf, sameTemplate } from '#controllers/deployment/template-hash.js';

/** Longest part of the owner's name in a revision's name. */
const maxPrefixLength = 223;

/** The patch that brings the template back: what clients apply to undo a rollout. */
export function revisionData(template: PodTemplateSpec): RawExtension {
  return { spec: { template: { ...template, $patch: 'replace' } } };
}

/** The template that a revision keeps; empty where the revision is not one of a template. */
export function templateOf(revision: ControllerRevision): PodTemplateSpec {
  const spec = revision.data?.['spec'] as { template?: PodTemplateSpec & { $patch?: string } } | undefined;
  const { $patch: _patch, ...template } = spec?.template ?? {};
  return template;
}

/** What a revision of an owner is made from. */
export interface RevisionSource {
  readonly owner: { readonly metadata: ObjectMeta };
  readonly template: PodTemplateSpec;
  /** The label that gets the hash. */
  readonly hashLabel: string;
}

/** A new revision, without owner reference. `collisionCount` tells apart what hashes alike. */
export function newRevision(
  { owner, template, hashLabel }: RevisionSource,
  revision: number | bigint,
  collisionCount: number,
): ControllerRevision {
  const { name = '', namespace = '', annotations } = owner.metadata;
  const data = revisionData(template);
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
