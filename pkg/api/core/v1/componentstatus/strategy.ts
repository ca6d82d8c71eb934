import { componentstatuses } from '#api/core/v1/resources.gen.js';
import type { ComponentStatus } from '#api/core/v1/types.gen.js';
import { kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy } from '#api/strategy/strategy.js';

export const componentStatusStrategy: Strategy<ComponentStatus> = kindStrategy<ComponentStatus>(componentstatuses, {
  computed: true,
  cells(object) {
    const name = object.metadata.name ?? '';
    const condition = object.conditions?.find(({ type }) => type === 'Healthy');
    if (condition === undefined) return [name, 'Unknown', '', ''];
    const state = condition.status === 'True' ? 'Healthy' : 'Unhealthy';
    return [name, state, condition.message ?? '', condition.error ?? ''];
  },
});
