import { podOptions } from '#api/core/v1/pod/validation/options.js';
import { podTemplateWarnings } from '#api/core/v1/pod/warnings.js';
import { containerCells } from '#api/core/v1/podtemplate/container-cells.js';
import { defaultPodTemplate, validatePodTemplate } from '#api/core/v1/podtemplate/template.js';
import { podtemplates } from '#api/core/v1/resources.gen.js';
import type { PodTemplate } from '#api/core/v1/types.gen.js';
import { kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy } from '#api/strategy/strategy.js';
import { formatLabels } from '#api/table/text.js';
import { FieldPath } from '#apimachinery/validation/path.js';

export const podTemplateStrategy: Strategy<PodTemplate> = kindStrategy<PodTemplate>(podtemplates, {
  deletionAnswer: 'object',
  anyGenerateNameOnUpdate: true,
  generationFields: ['template'],
  defaults: (object, context) => defaultPodTemplate(object.template, context.dialect),
  validate: (object, context, old) =>
    validatePodTemplate(
      object.template ?? {},
      context.dialect,
      FieldPath.of('template'),
      podOptions(object.template, old?.template, context),
    ),
  warnings: (object, old, context) =>
    podTemplateWarnings(object.template, old?.template, context.dialect, FieldPath.of('template')),
  cells: (object) => [
    object.metadata.name ?? '',
    ...containerCells(object.template?.spec?.containers),
    formatLabels(object.template?.metadata?.labels),
  ],
});
