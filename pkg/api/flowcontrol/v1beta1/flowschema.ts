import { declaration as newer } from '#api/flowcontrol/v1beta2/flowschema.js';
import { derivedVersion } from '#apimachinery/schema/derived-version.js';

export const declaration = derivedVersion(newer, {
  storedAs: { version: 'v1beta2' },
  deprecation: { since: '1.23', until: '1.26', replacement: 'v1beta2' },
});
