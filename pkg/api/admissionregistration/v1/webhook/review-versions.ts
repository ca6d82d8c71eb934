/** Review versions that the server can send to admission and conversion webhooks. */
export const reviewVersions = ['v1', 'v1beta1'] as const;

export type ReviewVersion = (typeof reviewVersions)[number];

export function isReviewVersion(version: string): version is ReviewVersion {
  return (reviewVersions as readonly string[]).includes(version);
}
