/** panto's semantic version, put in by the build. */
declare const PANTO_VERSION: string;
