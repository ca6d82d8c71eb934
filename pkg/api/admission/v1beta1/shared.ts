/** Reviews for webhooks that support only version v1beta1. */
export { declaration } from '#api/admission/v1/shared.js';
