/** The table of effects of all options and fields. */
import { allocationEffects } from '#nodeagent/testing/effects/allocation.js';
import { besideEffects, fieldEffects } from '#nodeagent/testing/effects/beside.js';
import type { Effects } from '#nodeagent/testing/effects/effect.js';
import { identityEffects } from '#nodeagent/testing/effects/identity.js';
import { podsEffects } from '#nodeagent/testing/effects/pods.js';
import { resourcesEffects } from '#nodeagent/testing/effects/resources.js';
import { servingEffects } from '#nodeagent/testing/effects/serving.js';

/** By option. */
export const optionEffects: Effects = {
  ...identityEffects,
  ...servingEffects,
  ...resourcesEffects,
  ...allocationEffects,
  ...podsEffects,
  ...besideEffects,
};

/** By the name of a field without an option. */
export { fieldEffects };
