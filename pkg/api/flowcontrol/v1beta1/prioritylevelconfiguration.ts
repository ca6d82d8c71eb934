import { declaration as newer } from '#api/flowcontrol/v1beta2/prioritylevelconfiguration.js';
import { anotherVersion } from '#apimachinery/schema/another-version.js';

export const declaration = anotherVersion(newer, {
  storedAs: { version: 'v1beta2' },
  deprecation: { since: '1.23', until: '1.26', replacement: 'v1beta2' },
});
