import type { Plugin } from '#scheduler/framework/plugin.js';

/** Binds through the API. */
export const defaultBinder: Plugin = {
  name: 'DefaultBinder',
  async bind({ pod }, { name }, { binder }) {
    await binder.bind(pod, name);
    return true;
  },
};
