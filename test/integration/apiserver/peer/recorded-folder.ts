import { fileURLToPath } from 'node:url';

/** The folder of recordings and lists of differences, beside the sources. */
export const recordedFolder = fileURLToPath(
  new URL('../../../../../test/integration/apiserver/peer/recorded/', import.meta.url),
);
