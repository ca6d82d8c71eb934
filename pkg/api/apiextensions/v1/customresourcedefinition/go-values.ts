/** Values of definitions as messages show them. */
import { declaration } from '#api/apiextensions/v1/customresourcedefinition.js';
import { goValuesOf } from '#api/go/go-values.js';

export const definitionValues = goValuesOf('apiextensions', 'v1', [declaration]);
