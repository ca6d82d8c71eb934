/** Label selectors that the command itself applies, to objects of files. */
import { parseLabelSelector } from '#apimachinery/selectors/label-parser.js';
import type { ApiObject } from '#client/client.js';

/** Whether the object has labels of the selector; always without one. */
export function matchesSelector({ metadata }: ApiObject, selector: string | undefined): boolean {
  if (selector === undefined || selector === '') return true;
  return parseLabelSelector(selector).matches(metadata.labels ?? {});
}
