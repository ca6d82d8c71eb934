/** Values of the types of metadata as messages show them. */
import { goValuesOf } from '#api/go/go-values.js';

export const metaValues = goValuesOf('meta', 'v1', []);
