/** Which plugins a profile has at which point. Rules of release 1.24 (configuration version v1beta3). */

/** The points of the configuration file. */
export const pluginPoints = [
  'queueSort',
  'preFilter',
  'filter',
  'postFilter',
  'preScore',
  'score',
  'reserve',
  'permit',
  'preBind',
  'bind',
  'postBind',
] as const;
export type PluginPoint = (typeof pluginPoints)[number];

export interface NamedPlugin {
  readonly name: string;
  /** Of its score; 0 or absent: 1. */
  readonly weight?: number;
}

export interface PluginSet {
  readonly enabled: readonly NamedPlugin[];
  /** `*`: all. */
  readonly disabled: readonly string[];
}

/** `multiPoint`: at every point that the plugin has. */
export type PluginSets = Readonly<Partial<Record<PluginPoint | 'multiPoint', PluginSet>>>;

/** The default plugins without those that are disabled, with those that are given; one that is given again keeps its place. */
export function mergedPlugins(defaults: readonly NamedPlugin[], given: PluginSet | undefined): NamedPlugin[] {
  if (given === undefined) return [...defaults];
  const { disabled, enabled } = given;
  const kept = disabled.includes('*') ? [] : defaults.filter(({ name }) => !disabled.includes(name));
  return [
    ...kept.map((each) => enabled.find(({ name }) => name === each.name) ?? each),
    ...enabled.filter(({ name }) => !kept.some((each) => each.name === name)),
  ];
}

/**
 * The plugins of one point, in order: first those of both sets in the order of the point's own, then the others of
 * `multiPoint` that have the point and are not disabled there, then the point's own others.
 */
export function pluginsAt(
  multiPoint: readonly NamedPlugin[],
  own: PluginSet | undefined,
  hasPoint: (plugin: string) => boolean,
): NamedPlugin[] {
  const { disabled = [], enabled = [] } = own ?? {};
  const named = (list: readonly NamedPlugin[], name: string) => list.some((each) => each.name === name);
  const off = (name: string) => disabled.includes('*') || disabled.includes(name);
  return [
    ...enabled.filter(({ name }) => named(multiPoint, name)),
    ...multiPoint.filter(({ name }) => hasPoint(name) && !named(enabled, name) && !off(name)),
    ...enabled.filter(({ name }) => !named(multiPoint, name)),
  ];
}
