/** Shared by the reviews of admission and conversion webhooks. Pure. */
import { isReviewVersion, type ReviewVersion } from '#api/admissionregistration/v1/webhook/review-versions.js';

/** The first version that both sides support. */
export function reviewVersionOf(versions: readonly string[]): ReviewVersion | undefined {
  return versions.find(isReviewVersion);
}

/** A kind in messages: `stable.example.com/v1, Kind=CronTab`. */
export function kindText(apiVersion: unknown, kind: unknown): string {
  return `${textOf(apiVersion)}, Kind=${textOf(kind)}`;
}

const maxNameChars = 256;

/** The value for a message, if it is a string. */
export function textOf(value: unknown, maxChars = maxNameChars): string {
  return typeof value === 'string' ? value.slice(0, maxChars) : '';
}
