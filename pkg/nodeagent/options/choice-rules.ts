/** Settings that are one of a few words, in the words of 1.24 for each. */
import { quoted } from '#apimachinery/errors/shown.js';
import type { Rule } from '#daemon/options/validate.js';
import type { NodeAgentOptions } from '#nodeagent/options/declarations.js';
import { label } from '#nodeagent/options/label.js';
import { hairpinModes } from '#nodeagent/options/pods.js';
import { topologyPolicies, topologyScopes } from '#nodeagent/options/resources.js';

export const choiceRules: Rule<NodeAgentOptions> = (values) => {
  const messages: string[] = [];
  const policy = values['topology-manager-policy'];
  if (!topologyPolicies.includes(policy)) {
    const list = `[${topologyPolicies.map(quoted).join(' ')}]`;
    messages.push(`${label('topology-manager-policy')} ${quoted(policy)} must be one of: ${list}`);
  }
  const scope = values['topology-manager-scope'];
  if (!topologyScopes.includes(scope)) {
    const list = topologyScopes.map(quoted).join(', or ');
    messages.push(`${label('topology-manager-scope')} ${quoted(scope)} must be one of: ${list}`);
  }
  const mode = values['hairpin-mode'];
  if (!hairpinModes.includes(mode)) {
    const [last = '', ...others] = hairpinModes.map(quoted).reverse();
    const list = `${others.reverse().join(', ')} or ${last}`;
    messages.push(`option ${quoted(mode)} specified for ${label('hairpin-mode')}. Valid options are ${list}`);
  }
  return messages;
};
