import { fileURLToPath } from 'node:url';

/** Where recordings and the lists of differences are: beside the sources. */
export const recordedFolder = fileURLToPath(
  new URL('../../../../../test/integration/apiserver/peer/recorded/', import.meta.url),
);
