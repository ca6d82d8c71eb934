/** What webhooks may ask for that know no newer version. */
export { declaration } from '#api/admission/v1/shared.js';
