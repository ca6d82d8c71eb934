import { declaration as stable } from '#api/policy/v1/poddisruptionbudget.js';
import { anotherVersion } from '#apimachinery/schema/another-version.js';
import type { KindDeclaration } from '#apimachinery/schema/schema.js';

export const declaration: KindDeclaration = anotherVersion(stable, {
  storedAs: { version: 'v1' },
  deprecation: { since: '1.21', until: '1.25', replacement: 'v1' },
  types: {
    PodDisruptionBudgetSpec: {
      ...stable.types['PodDisruptionBudgetSpec'],
      selector: {
        number: 2,
        type: 'meta.v1.LabelSelector',
        pointer: true,
        omitempty: true,
        optional: true,
        doc: 'Labels of the pods. Empty or unset selects none.',
      },
    },
  },
});
