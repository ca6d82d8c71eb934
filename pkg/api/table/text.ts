/** Texts of table cells that several kinds share. */
import type { LabelSelector } from '#api/meta/v1/types.gen.js';

export const none = '<none>';

/** The text, or `<none>` if it is absent or empty. */
export function orNone(text: string | undefined): string {
  return text === undefined || text === '' ? none : text;
}

/** `a=1,b=2`, sorted by key. */
export function formatLabels(labels: Readonly<Record<string, string>> | undefined): string {
  const entries = Object.entries(labels ?? {}).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return orNone(entries.map(([key, value]) => `${key}=${value}`).join(','));
}

/** `app=web,tier in (a,b),!old`, sorted by key. */
export function formatLabelSelector(selector: LabelSelector | undefined): string {
  const parts = Object.entries(selector?.matchLabels ?? {}).map(([key, value]) => ({ key, text: `${key}=${value}` }));
  for (const { key, operator, values = [] } of selector?.matchExpressions ?? []) {
    const list = [...values].sort().join(',');
    switch (operator) {
      case 'In':
        parts.push({ key, text: `${key} in (${list})` });
        break;
      case 'NotIn':
        parts.push({ key, text: `${key} notin (${list})` });
        break;
      case 'Exists':
        parts.push({ key, text: key });
        break;
      case 'DoesNotExist':
        parts.push({ key, text: `!${key}` });
        break;
      default:
        return '<error>';
    }
  }
  parts.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
  return orNone(parts.map((part) => part.text).join(','));
}
