/** What the reviews of admission and of conversion webhooks have in common. Pure. */
import { isReviewVersion, type ReviewVersion } from '#api/admissionregistration/v1/webhook/review-versions.js';

/** The first that both sides know. */
export function reviewVersionOf(versions: readonly string[]): ReviewVersion | undefined {
  return versions.find(isReviewVersion);
}

/** As messages name a kind: `stable.example.com/v1, Kind=CronTab`. */
export function kindText(apiVersion: unknown, kind: unknown): string {
  return `${textOf(apiVersion)}, Kind=${textOf(kind)}`;
}

const maxNameChars = 256;

/** What stands in a message, of whatever was sent instead of a text. */
export function textOf(value: unknown, maxChars = maxNameChars): string {
  return typeof value === 'string' ? value.slice(0, maxChars) : '';
}
