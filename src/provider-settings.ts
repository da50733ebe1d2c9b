import { type Environment, isSet, missingSettings, readSetting, type Setting, setting } from './setting.ts';
import { allowedPeople, claimNames, issuer, lineOfText, secretText } from './setting-kinds.ts';

/** A provider that people sign in with. */
export interface ProviderSettings {
  /** `NAME` of `SERVICE_OIDC_<NAME>_…` in lower case; empty for the one without a name. */
  readonly name: string;
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Who may sign in: addresses, `@domain` and `*`, in lower case. */
  readonly allow: readonly string[];
  /** Claims that may be the sender, in order of preference. */
  readonly senderClaims: readonly string[];
  /** What people know it by; never empty. */
  readonly label: string;
}

/** The providers of an environment, and what is wrong with their settings. */
interface ProviderReading {
  /** Those whose settings can be used: the one without a name, then by name. */
  readonly providers: readonly ProviderSettings[];
  /** One sentence each. */
  readonly problems: readonly string[];
  /** All variables that a provider of the environment may have, and those of the one without a name. */
  readonly variables: readonly string[];
}

/** Each provider needs these. */
const NEEDS = ['issuer', 'clientId', 'clientSecret', 'allow'] as const;
/** A variable of a provider with a name. */
const NAMED =
  /^SERVICE_OIDC_([A-Z0-9]{1,20})_(?:ISSUER|CLIENT_ID|CLIENT_SECRET|ALLOW|SENDER_CLAIM|LABEL)(?:_FILE)?$/;

function settingsWith(prefix: string) {
  return {
    issuer: setting(`${prefix}_ISSUER`, issuer),
    clientId: setting(`${prefix}_CLIENT_ID`, secretText([1, 256])),
    clientSecret: setting(`${prefix}_CLIENT_SECRET`, secretText([1, 1024])),
    allow: setting(`${prefix}_ALLOW`, allowedPeople),
    senderClaims: setting(`${prefix}_SENDER_CLAIM`, claimNames, ['name', 'email']),
    label: setting(`${prefix}_LABEL`, lineOfText(100)),
  };
}

/** The variable of a provider's client secret. */
export function secretVariable(name: string): string {
  return settingsWith(prefixOf(name)).clientSecret.name;
}

/** Reads all providers. */
export function readProviders(env: Environment): ProviderReading {
  const found = Object.keys(env).flatMap((variable) => (env[variable] && NAMED.exec(variable)?.[1]) || []);
  const readings = ['', ...new Set(found.sort())].map((name) => readProvider(env, name.toLowerCase()));
  return {
    providers: readings.flatMap(({ provider }) => provider ?? []),
    problems: readings.flatMap(({ problems }) => problems),
    variables: readings.flatMap(({ variables }) => variables),
  };
}

/** No provider if none of its variables is set. A part of them is refused, because sign-in would be off and the instance perhaps open. */
function readProvider(env: Environment, name: string) {
  const settings = settingsWith(prefixOf(name));
  const variables = Object.values(settings).map((setting) => setting.name);
  const given = variables.find((variable) => isSet(env, variable));
  if (given === undefined) return { problems: [], variables };
  const problems: string[] = [];
  const read = <T>(setting: Setting<T>): T => {
    const reading = readSetting(env, setting);
    if ('value' in reading) return reading.value;
    problems.push(reading.problem);
    return setting.fallback;
  };
  const issuer = read(settings.issuer);
  const values = {
    name,
    issuer,
    clientId: read(settings.clientId),
    clientSecret: read(settings.clientSecret),
    allow: read(settings.allow),
    senderClaims: read(settings.senderClaims),
    label: read(settings.label) ?? (issuer && new URL(issuer).host),
  };
  const needed = NEEDS.map((member) => settings[member].name);
  problems.push(...missingSettings(env, [...needed, 'PUBLIC_URL'], `${given} is`));
  return problems.length > 0
    ? { problems, variables }
    : { provider: values as ProviderSettings, problems, variables };
}

function prefixOf(name: string): string {
  return name === '' ? 'SERVICE_OIDC' : `SERVICE_OIDC_${name.toUpperCase()}`;
}
