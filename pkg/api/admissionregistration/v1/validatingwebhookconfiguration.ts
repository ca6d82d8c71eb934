import { declaration as mutating } from '#api/admissionregistration/v1/mutatingwebhookconfiguration.js';
import { defineTypes, message, object, optional, pointer } from '#apimachinery/schema/language.js';

const { reinvocationPolicy: _, ...common } = mutating.types.MutatingWebhook.fields;

export const declaration = defineTypes({
  types: {
    ValidatingWebhook: message('A webhook that may refuse requests.', {
      ...common,
      objectSelector: pointer(10, 'meta.v1.LabelSelector', { default: {} }, 'Labels of matching objects, before or after the change. Default: all. Users can dodge it by setting labels.'),
    }),
    ValidatingWebhookConfiguration: object('Webhooks that may refuse requests.', {
      webhooks: optional(2, 'ValidatingWebhook[]', { protoName: 'Webhooks', patchMergeKey: 'name' }, 'The webhooks.'),
    }),
  },
  resources: [
    {
      resource: 'validatingwebhookconfigurations',
      kind: 'ValidatingWebhookConfiguration',
      namespaced: false,
      categories: ['api-extensions'],
      columns: ['Name', { name: 'Webhooks', type: 'integer' }, 'Age'],
    },
  ],
});
