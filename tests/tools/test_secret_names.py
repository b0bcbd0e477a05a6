"""Names of files whose words say that they hold a secret, and ordinary names with the same letters."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest

from nbtool.tools.secret_names import has_secret_words
from nbtool.tools.secret_patterns import is_secret_path, secret_in

SECRET = (
    "rootkey.csv", "accessKeys.csv", "user_accessKeys.csv", "new_user_credentials.csv", "credentials.csv",
    "aws_keys.txt", "aws-access-key.txt", "AwsSecretKey.txt", "github-recovery-codes.txt", "gitlab-recovery-codes.txt",
    "huggingface-recovery-codes.txt", "recovery-codes.txt", "recovery_codes.pdf", "RecoveryCodes.txt",
    "backup-codes.txt", "google-backup-codes.txt", "backup_codes.csv", "2fa-backup-codes.txt", "2fa.txt",
    "mfa-codes.txt", "totp-seeds.csv", "otp_secrets.json", "emergency-kit.pdf", "1password-emergency-kit.pdf",
    "seed-phrase.txt", "seed_phrase.docx", "SeedPhrase.md", "wallet_seed_phrase.txt", "mnemonic.txt",
    "recovery-phrase.txt", "recovery_key.txt", "bitlocker-recovery-key.txt", "FileVaultRecoveryKey.txt",
    "recovery-kit.pdf", "openai_key.txt", "openai-key.json", "openaiKey.txt", "OPENAI_KEY.txt", "anthropic_key.txt",
    "claude-keys.txt", "gemini_key.yaml", "mistralkey.txt", "openai.key.txt", "api_key.txt", "api-keys.csv",
    "apikeys.json", "ApiKeys.xlsx", "API_KEYS.md", "apiKey.ini", "config_api_keys.txt", "my_keys.txt",
    "personal_keys.txt", "PERSONAL_KEYS", "keys.yaml", "stripe-keys.json",
    "twilio_keys.ini", "license_signing_key.txt", "signing-key.json", "encryption_key.bin", "encryption-keys.toml",
    "ENCRYPTION_KEY.txt", "masterkey.txt", "master-key.json", "hmac_key.hex", "ssh-keys.txt", "sshkey.txt",
    "gpg_key.txt", "deploy-key.txt", "host_key.txt", "privkey.txt", "privateKey.json", "private.txt",
    "rsa_private.txt", "storage_account_key.txt", "azure-storage-keys.csv", "cosmosdb_key.json", "service_key.json",
    "firebase-key.json", "secret_access_key.csv", "github_token.txt", "github-token.json", "GithubToken.txt",
    "gitlab_tokens.csv", "access-token.txt", "accessTokens.csv", "auth_tokens.yaml", "refresh_token.txt",
    "bearer-token.txt", "slackToken.txt", "bot_token.txt", "hf-token.txt", "telegram_bot_token.ini",
    "session_tokens.json", "personal-access-token.txt", "jwt_token.txt", "vault-token.txt", "passwords.txt",
    "my_passwords.docx", "Passwords.csv", "chrome_passwords.csv", "password_list.txt", "passwords-2024.xlsx",
    "db_password.md", "dbPassword.conf", "root_passwd.txt", "passwd.bak", "wifi_password.rtf", "mypasswords.ods",
    "passphrase.txt", "gpg-passphrase.txt", "passcodes.txt", "wifi-pass.txt", "db_pass.txt", "pwd.txt", "pwds.csv",
    "admin_pwd.ini", "pins.txt", "card_pin.txt", "pin.txt", "logins.csv", "my_logins.xlsx", "login.txt", "secret.csv",
    "secrets.docx", "my-secret.rtf", "clientSecret.txt", "client-secret.csv", "app_secrets.pdf", "jwtSecret.ini",
    "webhook_secret.hex", "SECRET_KEY.txt", "secret-keys.csv", "django_secret_key.txt", "cookie_secret.dat",
    "creds.csv", "db-creds.rtf", "dbCreds.xml", "prod_creds.ini", "aws_credentials.rtf", "Credentials.docx",
    "db_credentials_backup.txt", "secrets_old.doc", "passwords_(1).csv", "openai_key.txt.bak", "token.txt",
    "key_openai.txt", "token-github.txt", "passwords_db.csv", "apikey_openai.txt", "mykey.txt", "contraseñas.txt",
    "Passwörter.xlsx", "stripe_test_key.txt", "id_private.txt", "github_2fa.txt", "openai_key_old.txt",
    "api_keys_prod.csv", "apikeys-final.txt", "keypair.txt", "wallet-keypair.dat", "passkeys.csv",
)  # fmt: skip
"""Names as programs and people give them: AWS, GitHub, GitLab, Hugging Face, BitLocker, FileVault, 1Password, Chrome;
names in the `.gitignore` files and documentation of `abk234/FinRobot` and `Annirudh-S/aiwars-AegisAI`; the words that
such lists have in common in each separator, in camel case and in the plural."""

ORDINARY = (
    "--", "_.txt", "keyboard.csv", "key.csv", "keys.csv",  "monkey.txt", "tokenizer.json", "tokenizer_config.json",
    "primary_keys.sql", "foreign_keys.csv",
    "primary_key.txt", "foreign-key.md", "donkeys.csv", "turkey.csv", "turkey_2023.xlsx", "hockey.csv",
    "whiskey_ratings.csv", "jockeys.json", "mickey.txt", "keynote.pdf", "keynotes.md", "keywords.txt",
    "keyword_counts.csv", "keypoints.json", "keyframes.json", "key_metrics.csv", "key_findings.md", "key_results.xlsx",
    "key-figures.pdf", "keyphrases.txt", "hotkeys.json", "public_key.txt", "public-keys.csv", "pubkey.txt",
    "answer_key.pdf", "answer-keys.csv", "sort_keys.txt", "partition_key.md", "index_keys.csv", "legend_key.txt",
    "map_key.md", "translation_keys.json", "hot_keys.txt", "shortcut_keys.md", "object_keys.csv",
    "monkeys_and_keys_study.pdf", "keys_to_success.md", "key_indicators_2024.csv", "key-account-customers.csv",
    "special_tokens_map.json", "added_tokens.json", "token_counts.csv", "tokens.csv", "tokens.txt",
    "tokens_per_second.csv", "num_tokens.csv", "max_tokens.txt", "design-tokens.json", "token_classification.csv",
    "token_usage.csv", "vocab_tokens.txt", "stop_tokens.json", "total_tokens.csv", "tokenization.md", "bpe_tokens.txt",
    "input_tokens.csv", "password_strength.py", "password_reset.html", "secret_santa.csv", "secret-garden.txt",
    "secretary.csv", "secretariat.md", "secretion_rates.csv", "secret_life_of_bees.txt", "credential_report.py",
    "passenger.csv", "passengers.txt", "passage.txt", "passing.csv", "pass_rates.csv", "boarding_pass.pdf",
    "season-pass.csv", "bypass.csv", "compass.json", "encompass.txt", "passport_countries.csv", "first_pass.csv",
    "recovery.csv", "recovery_rates.csv", "recovery_time.csv", "backup.csv", "backup_plan.md", "backup-schedule.txt",
    "country_codes.csv", "zip_codes.csv", "icd_codes.csv", "codes.txt", "postal-codes.json", "qr_codes.txt",
    "error_codes.md", "seeds.csv", "seed.txt", "random_seeds.json", "seed_data.csv", "bird_seed.csv", "pinboard.csv",
    "pinterest.csv", "spin.csv", "shopping.csv", "pineapple.txt", "opinions.txt", "login_events.csv",
    "login_counts.csv", "user_logins_by_day.csv", "blogin.txt", "private_sector_employment.csv", "private-schools.csv",
    "privacy.md", "privateer.csv", "credits.csv", "credit.csv", "creditcard_fraud.csv", "accreditation.csv",
    "sacred.txt", "access_log.csv", "auth_rates.csv", "authors.csv", "api_usage.csv", "api_docs.md", "apis.csv",
    "otters.csv", "photo.txt", "totals.csv", "README.md", "data.csv", "train.csv", "test.json", "config.yaml",
    "notes.txt", "requirements.txt", "LICENSE.md", "sales_2024.xlsx", "results.json", "report.pdf", "measurements.csv",
    "survey.csv", "answers.txt", "prices.csv", "iris.csv", "penguins.csv", "titanic.csv", "housing.csv", "model.json",
    "password_policy.docx", "credentials_guide.rst", "password_survey_results.xlsx", "private_data.csv",
    "private_notes.md", "key_lime_pie.txt", "monkeypox.csv", "token_ring.txt", "data_dictionary_key.csv",
    "tokens_used.csv", "mfa_adoption_by_year.csv", "2factor_anova.csv", "package.json", "environment.yml",
    "settings.json", "schema.json", "index.html", "metadata.csv", "weights.csv", "logs.txt", "summary.md",
)  # fmt: skip
"""Names of data, notes and files of models."""


BROAD = {
    "secret-garden.txt", "secretariat.md", "secret_life_of_bees.txt", "credential_report.py", "credentials_guide.rst",
    "password_survey_results.xlsx",
}  # fmt: skip
"""Those that the patterns of `secret_patterns` cover all the same."""


def is_secret(name: str) -> bool:
    return is_secret_path(PurePosixPath("/home/ada/data") / name)


def test_names_that_say_so_are_those_of_secrets() -> None:
    assert [name for name in SECRET if not is_secret(name)] == []
    assert len(SECRET) >= 150


def test_ordinary_names_are_not() -> None:
    assert {name for name in ORDINARY if is_secret(name)} == BROAD
    assert [name for name in ORDINARY if has_secret_words(name)] == []
    assert len(ORDINARY) >= 150


@pytest.mark.parametrize(
    "name",
    ["openai_key.txt", "OPENAI-KEYS.TXT", "OpenaiKey.Txt", "openai key.txt", "openai.key.v2.txt", "\uff2fpenaiKey.txt"],
)
def test_separators_and_capitals_make_no_difference(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize(
    "text", ["q7Hd2LkPz0Vb9XnT4mRw8Ys\n", "  Zk3_fP-81xQmLt6vBn0WcRaE==  ", "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY"]
)
def test_a_random_word_alone_is_a_secret_whatever_its_file_is_called(text: str) -> None:
    assert secret_in(text) == "a key or token alone"


@pytest.mark.parametrize(
    "text",
    ["", "1.2.3", "d41d8cd98f00b204e9800998ecf8427e", "550e8400-e29b-41d4-a716-446655440000",
     "The quick brown fox 7", "aaaaaaaaaaaaaaaaaaaaB1",
     "/data/2024/Results/Model7.csv", "q7Hd2LkPz0Vb9XnT4mRw8Ys and a sentence", "x = 1\n" * 9],
)  # fmt: skip
def test_other_contents_are_not(text: str) -> None:
    assert secret_in(text) == ""
