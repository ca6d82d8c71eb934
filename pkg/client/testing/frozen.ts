/** Informers whose objects nobody can change: what tries to, fails, and fails the test by what it leaves undone. */
import { freeze } from '#apimachinery/testing/freeze.js';
import type { ApiObject } from '#client/client.js';

/** A transform of informers. */
export function frozen<T extends ApiObject>(object: T): T {
  freeze(object);
  return object;
}
