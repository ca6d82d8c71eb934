import { declaration as stable } from '#api/policy/v1/poddisruptionbudget.js';
import { derivedVersion } from '#apimachinery/schema/derived-version.js';
import { pointer } from '#apimachinery/schema/language.js';

export const declaration = derivedVersion(stable, {
  storedAs: { version: 'v1' },
  deprecation: { since: '1.21', until: '1.25', replacement: 'v1' },
  fields: {
    PodDisruptionBudgetSpec: {
      selector: pointer(2, 'meta.v1.LabelSelector', 'Labels of the pods. Empty or unset selects none.'),
    },
  },
});
