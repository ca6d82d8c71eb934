/** Pod templates as ControllerRevisions. Rules of release 1.24 (pkg/controller/history). Pure. */
import type { ControllerRevision } from '#api/apps/v1/types.gen.js';
import type { PodTemplateSpec } from '#api/core/v1/types.gen.js';
import type { ObjectMeta } from '#api/meta/v1/types.gen.js';
import type { RawExtension } from '#api/runtime/types.gen.js';
import { schemeFor } from '#api/scheme.js';
import { withNulls } from '#apimachinery/codec/json/empty-members.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { nameAlphabet as alphabet } from '#apimachinery/generate-name.js';
import { goJson } from '#apimachinery/go-json.js';
import { compareInt64, successor } from '#apimachinery/int64.js';
import { sameTemplate } from '#controllers/deployment/template-hash.js';
import { byCreation } from '#controllers/framework/order.js';

/** The maximum length of the owner's name in a revision's name. */
const maxPrefixLength = 223;

/**
 * The patch that restores the template; clients apply it to undo a rollout. Its JSON equals that of release 1.24, which
 * compares bytes: sorted members, with explicit nulls.
 */
export function revisionData(dialect: Dialect, template: PodTemplateSpec): RawExtension {
  const type = schemeFor(dialect).type('core.v1.PodTemplateSpec');
  const whole = { ...withNulls(type, template), $patch: 'replace' };
  return JSON.parse(goJson({ spec: { template: whole } })) as RawExtension;
}

/** The template in a revision; empty if the revision has none. */
export function templateOf(revision: ControllerRevision): PodTemplateSpec {
  const spec = revision.data?.['spec'] as { template?: PodTemplateSpec & { $patch?: string } } | undefined;
  const { $patch: _patch, ...template } = spec?.template ?? {};
  return withoutNulls(template);
}

/** Drops null members, which mean nothing in a template. */
function withoutNulls<T>(value: T): T {
  if (Array.isArray(value)) return value.map(withoutNulls) as T;
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).filter(([, member]) => member !== null);
  return Object.fromEntries(members.map(([name, member]) => [name, withoutNulls(member)])) as T;
}

export interface RevisionSource {
  readonly owner: { readonly metadata: ObjectMeta };
  readonly template: PodTemplateSpec;
  /** The label for the hash. */
  readonly hashLabel: string;
  /** Computes the name's hash from the data and the number of collisions. */
  readonly hashOf: (data: RawExtension, collisionCount: number) => string;
}

/** A new revision without owner reference. `collisionCount` varies the hash after a collision. */
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

/** Oldest first: by number, time and name. */
export function sortedRevisions(revisions: readonly ControllerRevision[]): ControllerRevision[] {
  return [...revisions].sort((a, b) => compareInt64(a.revision, b.revision) || byCreation(a, b));
}

export type RevisionPlan =
  /** The newest revision has the template. */
  | { readonly kind: 'keep'; readonly revision: ControllerRevision }
  /** An earlier revision has the template and becomes the newest. */
  | { readonly kind: 'renumber'; readonly revision: ControllerRevision; readonly number: number | bigint }
  | { readonly kind: 'create'; readonly number: number | bigint };

/** Plans how the template becomes the newest of the sorted revisions. */
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

/** The hash in a revision's name. Source: 1.24, pkg/controller/history/controller_history.go (HashControllerRevision). */
export function revisionHash(data: unknown, collisionCount: number): string {
  const hash = fnv1(Buffer.from(`${goJson(data)}${collisionCount}`));
  return [...String(hash)].map((digit) => alphabet[digit.charCodeAt(0) % alphabet.length]).join('');
}

/** 32-bit FNV-1. */
function fnv1(bytes: Buffer): number {
  let hash = 0x811c9dc5;
  for (const byte of bytes) hash = (Math.imul(hash, 0x01000193) ^ byte) >>> 0;
  return hash;
}
