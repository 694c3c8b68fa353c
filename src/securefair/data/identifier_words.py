"""Words of headings that name persons: in English and German as one word at the end of a heading,
in French, Spanish and Italian as the whole heading, since these put what a number is of behind it.
"""

from __future__ import annotations

import re
import unicodedata

LAST = re.compile(
    r"(?:patient|subject|case|study|record|person|visit|encounter|hospital|insurance|medical|"
    r"first|last|middle|maiden|family|full|given|user|row)?"
    r"(?:id|nr|no|number|mrn|uuid|guid|pseudonym|initials|name|address|street|email|mail|phone|"
    r"telephone|mobile|ssn|zip|zipcode|postcode)"
    r"|aktenzeichen|(?:fall|patienten|pat|versicherten|krankenversicherten|kranken|fallakten|"
    r"aufnahme|telefon|mobil|handy|haus|sozialversicherungs|personal|ausweis)(?:nummer|nr|id)"
    r"|(?:ahv|kv|sv)(?:nummer|nr)|kennung|(?:fore|sur)name|(?:vor|nach|familien|geburts|ruf)name"
    r"|anschrift|adresse|telefon|strasse|straße|plz|postleitzahl"
)
"""The last word of a heading."""

LAST_PATIENTS = re.compile(
    r"(?:patient|pat|patienten|versicherten|subject|person|proband(?:en)?|participant|case|fall|"
    r"fallakten|record|user)?(?:id|nr|uuid|guid|pseudonym|mrn)"
    r"|(?:patient|patienten|versicherten|krankenversicherten|subject|case|fall|record|insurance)"
    r"(?:no|number|nummer)"
    r"|patient|ssn|aktenzeichen|kennung"
)
"""Of these, with the word before, those that name who a row is of: a ward has numbers as well."""

_NUMBER = (
    r"(?:(?:numero|num|nro|no|nr|n|id|identifiant|identificador|identificativo|code|codigo|"
    r"codice)_)"
)

_WHOLE_PATIENTS = (
    # French
    rf"{_NUMBER}?(?:nir|ins|ipp)|{_NUMBER}(?:patiente?|dossier(?:_patient)?|secu|ss|securite_sociale|"
    r"assure)|dossier(?:_patient)?|identifiant(?:_patient|_permanent)*|matricule(?:_ins)?"
    r"|(?:securite_sociale|carte_vitale)"
    # Spanish
    rf"|{_NUMBER}(?:paciente|historia(?:_clinica)?|expediente|seguridad_social|afiliacion)"
    rf"|{_NUMBER}?(?:dni|nif|nhc|nuhsa|cip|nuss)|identificador(?:_paciente)?|expediente"
    # Italian
    rf"|{_NUMBER}(?:paziente|cartella(?:_clinica)?|fiscale|nosologico|tessera_sanitaria)"
    r"|tessera_sanitaria|identificativo(?:_paziente)?|nosologico"
)

_WHOLE_OTHERS = (
    # French
    r"(?:pre)?noms?(?:_(?:(?:pre)?noms?|naissance|usage|usuel|famille|jeune_fille|marital|epouse|"
    r"complet|patiente?|medecin))*|initiales"
    rf"|{_NUMBER}(?:sejour|venue|admission|episode|iep|nda|telephone|tel|portable|mobile|lit|rue)"
    r"|(?:telephone|tel|portable)(?:_(?:portable|fixe|mobile|domicile|patiente?))*"
    r"|courriel|(?:adresse_)?(?:e_)?mail|adresse(?:_(?:postale|complete|domicile|patiente?|mail|"
    r"e_mail|electronique))*|rue|code_postal"
    # Spanish
    r"|nombres?_(?:paciente|completo|apellidos?)|(?:primer_|segundo_)?apellidos?"
    r"(?:_nombres?)?|telefono(?:_(?:movil|fijo))?|movil|correo(?:_electronico)?|direccion"
    rf"|domicilio|codigo_postal|{_NUMBER}(?:episodio|ingreso|telefono)"
    # Italian
    r"|(?:cog)?nome(?:_(?:e_)?(?:cog)?nome|_paziente)?|cellulare|indirizzo|"
    rf"codice_(?:avviamento_)?postale|posta_elettronica|matricola|{_NUMBER}(?:ricovero|telefono)"
)

WHOLE_PATIENTS = re.compile(_WHOLE_PATIENTS)
WHOLE = re.compile(f"{_WHOLE_PATIENTS}|{_WHOLE_OTHERS}")
"""Whole headings as `spelt_out` gives them, those of `WHOLE_PATIENTS` name who a row is of."""

SHORT = {"ipp": r"\d{5}", "ins": r"\d{5}", "nombre": r"[^\W\d_]{2}"}
"""Headings that are another thing elsewhere, and what their values then have: IPP are proton pump
inhibitors as well, and nombre is a count in French."""

_SMALL = re.compile(
    r"\b(?:de|du|des|la|le|les|del|dello|della|di|al|el|los|et|y|[dl](?=['\u2019]))\b"
)
_WORDS = re.compile(r"[^\W\d_]+|\d+")


def unaccented(text: str) -> str:
    """A text without accents."""
    parts = unicodedata.normalize("NFKD", text)
    return "".join(one for one in parts if not unicodedata.combining(one))


def spelt_out(heading: str) -> str:
    """A heading without accents, case, signs, small words and numbers behind: N° de dossier as
    n_dossier."""
    plain = unaccented(heading.replace("º", " ").replace("°", " ").replace("ª", " ")).casefold()
    words = _WORDS.findall(_SMALL.sub(" ", plain))
    while len(words) > 1 and words[-1].isdigit():
        words.pop()
    return "_".join(words)
