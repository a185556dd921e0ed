from __future__ import annotations

from pathlib import Path

from custody_local import template


def test_short_forms_are_read_as_their_long_forms(tmp_path: Path) -> None:
    file = tmp_path / "template.yaml"
    file.write_text(
        "Resources:\n"
        "  Table:\n"
        "    Type: AWS::DynamoDB::Table\n"
        "    Properties:\n"
        "      TableName: !Sub '${AWS::StackName}-t'\n"
        "      Arn: !GetAtt Other.Arn\n"
        "      Key: !If [Has, !Ref Other, !Ref AWS::NoValue]\n"
    )
    read = template.resources(template.load(file), "AWS::DynamoDB::Table")
    assert read == {
        "Table": {
            "TableName": {"Fn::Sub": "${AWS::StackName}-t"},
            "Arn": {"Fn::GetAtt": ["Other", "Arn"]},
            "Key": {"Fn::If": ["Has", {"Ref": "Other"}, {"Ref": "AWS::NoValue"}]},
        }
    }
