/** What the reviews of admission and of conversion webhooks have in common. Pure. */

/** Versions of reviews that the server can send. */
export type ReviewVersion = 'v1' | 'v1beta1';

const known: readonly string[] = ['v1', 'v1beta1'] satisfies ReviewVersion[];

/** The first that both sides know. */
export function reviewVersionOf(versions: readonly string[]): ReviewVersion | undefined {
  return versions.find((version) => known.includes(version)) as ReviewVersion | undefined;
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
