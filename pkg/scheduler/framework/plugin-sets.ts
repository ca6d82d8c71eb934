/** Which plugins a profile runs at which extension point; rules of release 1.24 (configuration version v1beta3). */

/** The extension points of the configuration file. */
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
  /** Weight of its score; 0 or absent: 1. */
  readonly weight?: number;
}

export interface PluginSet {
  readonly enabled: readonly NamedPlugin[];
  /** `*`: all. */
  readonly disabled: readonly string[];
}

/** `multiPoint`: enabled at every point that the plugin implements. */
export type PluginSets = Readonly<Partial<Record<PluginPoint | 'multiPoint', PluginSet>>>;

/** The defaults minus the disabled plus the enabled plugins; a default that is enabled again keeps its position. */
export function mergedPlugins(defaults: readonly NamedPlugin[], own: PluginSet | undefined): NamedPlugin[] {
  if (own === undefined) return [...defaults];
  const { disabled, enabled } = own;
  const remaining = disabled.includes('*') ? [] : defaults.filter(({ name }) => !disabled.includes(name));
  return [
    ...remaining.map((each) => enabled.find(({ name }) => name === each.name) ?? each),
    ...enabled.filter(({ name }) => !remaining.some((each) => each.name === name)),
  ];
}

/**
 * The plugins of one point, in order: first those in both sets, in the point's own order; then the rest of `multiPoint`
 * that implement the point and are not disabled there; then the rest of the point's own.
 */
export function pluginsAt(
  multiPoint: readonly NamedPlugin[],
  own: PluginSet | undefined,
  hasPoint: (plugin: string) => boolean,
): NamedPlugin[] {
  const { disabled = [], enabled = [] } = own ?? {};
  const includes = (list: readonly NamedPlugin[], name: string) => list.some((each) => each.name === name);
  const isDisabled = (name: string) => disabled.includes('*') || disabled.includes(name);
  return [
    ...enabled.filter(({ name }) => includes(multiPoint, name)),
    ...multiPoint.filter(({ name }) => hasPoint(name) && !includes(enabled, name) && !isDisabled(name)),
    ...enabled.filter(({ name }) => !includes(multiPoint, name)),
  ];
}
