/** `/test/pods`: the rules by which simulated pods behave. */
import { badRequest } from '#apimachinery/errors/status.js';
import { RulesError } from '#nodeagent/simulated/settings/rules.js';
import type { TestFeatureFactory } from '#testcluster/feature/feature.js';

/** GET shows the rules, POST replaces them (`{rules: […]}`), DELETE removes them. Wrong rules get 400 and change nothing. */
export const podRules: TestFeatureFactory = ({ simulation }) => ({
  endpoints: [
    {
      path: '/test/pods',
      methods: ['GET', 'POST', 'DELETE'],
      async handle({ method, body }) {
        if (method !== 'GET') {
          try {
            simulation.setRules(method === 'POST' ? body : []);
          } catch (error) {
            if (!(error instanceof RulesError)) throw error;
            throw badRequest(`the rules of pods are invalid: ${error.message}`, error);
          }
        }
        return { rules: simulation.source };
      },
    },
  ],
});
