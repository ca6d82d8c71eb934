/** The review of a pod's images (`ImageReview`) and its answer. Pure. */
import type { Container, Pod } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { goJson } from '#apimachinery/go-json.js';
import { reviewStatus } from '#apiserver/webhooks/backend/review-answer.js';

export interface ImageReviewSpec {
  readonly containers?: readonly { readonly image?: string }[];
  /** The pod's annotations for the webhook. */
  readonly annotations?: Readonly<Record<string, string>>;
  readonly namespace?: string;
}

export interface ImageVerdict {
  readonly allowed: boolean;
  /** Why images are refused; empty: the webhook gives no reason. */
  readonly reason: string;
  readonly auditAnnotations: Readonly<Record<string, string>>;
}

/** What the webhook is told: all images, or only those of ephemeral containers. As in 1.24, containers come first. */
export function reviewSpec(pod: Pod, namespace: string, subresource: string, dialect: Dialect): ImageReviewSpec {
  const { containers = [], initContainers = [], ephemeralContainers = [] } = pod.spec;
  const reviewed = subresource === '' ? [...containers, ...initContainers] : ephemeralContainers;
  const infix = `.${dialect.imagePolicy.domain}/`;
  const annotations = Object.entries(pod.metadata.annotations ?? {}).filter(([key]) => key.includes(infix));
  return {
    ...(reviewed.length === 0 ? {} : { containers: reviewed.map(imageOf) }),
    ...(annotations.length === 0 ? {} : { annotations: Object.fromEntries(annotations) }),
    ...(namespace === '' ? {} : { namespace }),
  };
}

function imageOf({ image = '' }: Pick<Container, 'image'>): { image?: string } {
  return image === '' ? {} : { image };
}

const kind = 'ImageReview';

/** The body of the request, and the part of it that tells reviews apart. */
export function reviewBody(spec: ImageReviewSpec, dialect: Dialect): { readonly body: string; readonly key: string } {
  const key = goJson(spec);
  const head = `"kind":"${kind}","apiVersion":"${dialect.imagePolicy.apiVersion}","metadata":{"creationTimestamp":null}`;
  return { key, body: `{${head},"spec":${key},"status":{"allowed":false}}` };
}

/** Throws WebhookCallError for an answer that is not a review. */
export function verdictIn(answer: unknown, dialect: Dialect): ImageVerdict {
  const status = reviewStatus(answer, { kind, apiVersion: dialect.imagePolicy.apiVersion });
  return {
    allowed: status.flag('allowed'),
    reason: status.text('reason'),
    auditAnnotations: status.textMap('auditAnnotations'),
  };
}
